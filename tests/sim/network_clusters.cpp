#include "tests/sim/network_clusters.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace sim {
namespace {

using hw_models::BytesPerSecond;
using hw_models::ClusterSpec;
using hw_models::Seconds;

ClusterSpec switched(int nodes, int nics, double nic_rate) {
  ClusterSpec spec;
  spec.nodes = nodes;
  spec.node.scale_up_bandwidth = spec.node.pair_bandwidth = BytesPerSecond(450e9);
  spec.node.scale_up_latency = Seconds(0.6e-6);
  spec.node.nics = nics;
  spec.node.nic_bandwidth = BytesPerSecond(nic_rate);
  spec.node.pcie_bandwidth = BytesPerSecond(50e9);
  spec.node.pcie_latency = Seconds(0.4e-6);
  spec.fabric.efficiency = 1;
  spec.fabric.switch_latency = Seconds(0.2e-6);
  spec.fabric.endpoint_latency = Seconds(1e-6);
  return spec;
}

}  // namespace

ClusterSpec dgx_h100(int nodes) {
  ClusterSpec spec = switched(nodes, 8, 50e9);
  spec.fabric.efficiency = 0.92;
  return spec;
}

ClusterSpec shared_nics(int nodes) {
  ClusterSpec spec = switched(nodes, 4, 12.5e9);
  spec.node.gpus_per_pcie_switch = 2;
  spec.fabric.kind = hw_models::FabricKind::kFatTree;
  return spec;
}

ClusterSpec four_nics_each(int nodes) { return switched(nodes, 32, 12.5e9); }

std::vector<int> gpu_range(int first, int last) {
  std::vector<int> gpus;
  for (int gpu = first; gpu < last; ++gpu) gpus.push_back(gpu);
  return gpus;
}

GroupCollective group_collective(std::string_view algorithm, const strategies::Exchange& exchange, std::int64_t bytes,
                                 std::vector<int> gpus) {
  const strategies::CollectiveAlgorithm* found = strategies::find_collective_algorithm(algorithm);
  if (found == nullptr) throw std::invalid_argument("no algorithm " + std::string(algorithm));
  return {found, exchange, hw_models::Bytes(bytes), std::move(gpus)};
}

}  // namespace sim
