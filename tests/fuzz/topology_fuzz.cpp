// A topology is read or refused with InputError, whatever the bytes are; one that was read is a forest and prints.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "scenarios/import/read_topology.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/report/topology_report.h"

namespace {

void check(const scenarios::NodeTopology& topology) {
  const int size = static_cast<int>(topology.devices.size());
  for (int i = 0; i < size; ++i) {
    int steps = 0;
    for (int at = i; at >= 0; at = topology.at(at).parent) {
      if (at >= size || ++steps > size) std::abort();
    }
  }
  for (const scenarios::ScaleUpLink& link : topology.scale_up) {
    if (link.a < 0 || link.a >= size || link.b >= size || link.lanes < 1) std::abort();
  }
  if (topology_text(topology).empty() || topology_svg(topology).empty() || topology_dot(topology).empty()) std::abort();
  if (topology_json(topology).back() != '\n') std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check(scenarios::parse_topology(text, "topology"));
  } catch (const scenarios::InputError& refused) {
    if (!std::string_view(refused.what()).starts_with("topology:")) std::abort();
  }
  return 0;
}
