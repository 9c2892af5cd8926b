// A server's topology for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "scenarios/import/node_topology.h"

namespace scenarios {

/// The tree, the classes of links, each GPU's nearest NICs, and what was dirty in the source.
std::string topology_text(const NodeTopology& topology);
/// {"source","devices":[{"name","kind","id","parent","uplink_GBps","port_Gbps","model"}],"scale_up":[{"a","b","lanes",
/// "GBps"}],"affinity":[{"gpu","nics":[],"path"}],"notes":[]}; unknown figures are null, "b" null = the switches.
std::string topology_json(const NodeTopology& topology);
std::string topology_dot(const NodeTopology& topology);  ///< for Graphviz
std::string topology_svg(const NodeTopology& topology);

/// GPUs whose NIC is out of order, "GPU0 - NIC4", among the NICs that are some GPU's nearest. Empty unless every GPU
/// has one NIC of its own.
std::vector<std::string> crossed_rails(const NodeTopology& topology);

}  // namespace scenarios
