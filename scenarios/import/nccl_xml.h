// NCCL's and RCCL's topology files: NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE (<system version="1"> or "2">).
//
//   <system> > <cpu numaid> > <pci busid class link_speed link_width> > ... > <gpu> > <nvlink target count tclass>
//                                                                          > <nic> > <net name speed>
//
// Hand-written files have no gpu and net elements: devices are told by their PCI class then (0x03.... and 0x12.... GPU,
// 0x0200.. and 0x0207.. network, 0x0604.. switch, 0x0680.. NVSwitch). PCIe payload rates are those NCCL counts with
// (topo.h: 12 GB/s for x16 of generation 3, doubled by generation).
#pragma once

#include <string>
#include <string_view>

#include "scenarios/import/node_topology.h"

namespace scenarios {

/// Throws InputError naming file, line and column for malformed or foreign XML, document types, nesting beyond 64
/// levels and more than 10,000 elements.
NodeTopology parse_nccl_xml(std::string_view text, const std::string& file);

}  // namespace scenarios
