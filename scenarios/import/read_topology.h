// Any description of a server's topology, told apart by its content.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/import/node_topology.h"

namespace scenarios {

/// NCCL or RCCL topology XML, `nvidia-smi topo -m`, `rocm-smi --showtopotype`. Throws InputError for anything else.
NodeTopology parse_topology(std::string_view text, const std::string& file);
NodeTopology read_topology(const std::string& file);  ///< "-" = standard input; at most 4 MiB

}  // namespace scenarios
