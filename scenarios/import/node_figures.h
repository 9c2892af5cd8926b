// What a server's own description tells of the figures of a node (hw_models/node.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hw_models/node.h"
#include "scenarios/import/node_topology.h"

namespace scenarios {

/// Nothing in it is guessed: what the topology does not tell is empty. GPUs are numbered as the source numbers them,
/// NICs in the source's order without those that no GPU is near to (storage, management).
struct NodeFigures {
  struct Joint {
    int a = 0, b = ScaleUpLink::kSwitches;  ///< GPUs
    int lanes = 0;
    std::optional<hw_models::BytesPerSecond> payload;  ///< all lanes
  };

  int gpus = 0;
  std::string gpu;  ///< catalogue name
  int nics = 0;
  int numa_domains = 1;
  std::optional<hw_models::BytesPerSecond> nic_bandwidth, pcie_bandwidth;
  std::optional<hw_models::ScaleUpKind> scale_up;  ///< nullopt: the source does not show scale-up links
  std::vector<Joint> joints;
  hw_models::PcieWiring wiring;
};

NodeFigures node_figures(const NodeTopology& topology);

}  // namespace scenarios
