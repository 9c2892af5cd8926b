// Topologies that several tests read.
#pragma once

#include <string>

#include "scenarios/import/node_topology.h"

namespace scenarios {

NodeTopology two_sockets();    ///< tests/data/topology/two-sockets.xml
NodeTopology crossed_cards();  ///< tests/data/topology/crossed-rails.txt
/// What parse_topology says about `text`, "accepted" if nothing.
std::string topology_refusal(const std::string& text);

}  // namespace scenarios
