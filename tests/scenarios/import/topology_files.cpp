#include "tests/scenarios/import/topology_files.h"

#include "scenarios/import/read_topology.h"
#include "scenarios/load/diagnostics.h"

namespace scenarios {

NodeTopology two_sockets() { return read_topology(TRAINYARD_SOURCE_DIR "/tests/data/topology/two-sockets.xml"); }
NodeTopology crossed_cards() { return read_topology(TRAINYARD_SOURCE_DIR "/tests/data/topology/crossed-rails.txt"); }

std::string topology_refusal(const std::string& text) {
  try {
    parse_topology(text, "topo");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace scenarios
