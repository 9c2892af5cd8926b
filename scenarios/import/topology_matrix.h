// The matrices printed by `nvidia-smi topo -m` and `rocm-smi --showtopotype`.
//
// A row and a column per GPU and NIC; a cell says how far two are apart (PathClass). The PCIe tree is rebuilt from the
// distances: devices within PIX share a switch, switches within PXB share one above, then host bridge and CPU.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/import/node_topology.h"

namespace scenarios {

/// Surrounding text, terminal codes and a legend are skipped; missing rows are filled from their columns, with a note.
/// Throws InputError naming file, line and column for a matrix without GPUs, short rows and unknown words.
NodeTopology parse_topology_matrix(std::string_view text, const std::string& file);

}  // namespace scenarios
