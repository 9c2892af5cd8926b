#include "scenarios/collectives/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace scenarios {
namespace {

using hw_models::ClusterSpec;
using hw_models::GroupLayout;
using hw_models::NcclEstimate;

GroupLayout layout_of(const ClusterSpec& spec, int gpus) {
  const hw_models::Cluster cluster(spec);
  const bool all = gpus == spec.gpus();
  std::vector<std::vector<int>> group(1);
  for (int node = 0; node < spec.nodes; ++node) {
    const int of_node = all ? spec.node_at(node).gpus : gpus / spec.nodes;
    for (int gpu = 0; gpu < of_node; ++gpu) group.front().push_back(spec.first_gpu(node) + gpu);
  }
  return hw_models::Network(cluster).layouts(group).front();
}

void check_gpus(const ClusterSpec& spec, int gpus) {
  const bool spread = gpus >= 1 && gpus % spec.nodes == 0 &&
                      gpus / spec.nodes <= hw_models::least_of_nodes(spec, &hw_models::NodeSpec::gpus);
  if (spread || gpus == spec.gpus()) return;
  throw std::invalid_argument(fmt::format("gpus: {} GPUs cannot be spread evenly over {} nodes of {}", gpus, spec.nodes,
                                          hw_models::least_of_nodes(spec, &hw_models::NodeSpec::gpus)));
}

}  // namespace

Machine::Machine(const ClusterSpec& cluster, int gpus, const CollectiveOptions& options)
    : spec_(cluster), options_(options), system_(hw_models::nccl_system(cluster)) {
  check_gpus(cluster, gpus);
  layout_ = layout_of(cluster, gpus);
  system_.nvls = system_.nvls && options.nvls;
  system_.sharp = options.sharp;
  ClusterSpec free = cluster;
  free.fabric.spine_oversubscription = 1;
  spines_limit_ = layout_of(free, gpus).inter > layout_.inter;
  free.fabric.oversubscription = 1;
  free.fabric.hash_seed.reset();
  free_ = layout_of(free, gpus);
  free.node.pcie_bandwidth = hw_models::BytesPerSecond(1e18);
  for (hw_models::NodePool& pool : free.pools) pool.node.pcie_bandwidth = free.node.pcie_bandwidth;
  slots_limit_ = layout_of(free, gpus).inter > free_.inter;
}

NcclEstimate Machine::estimate(const CollectiveTest& test, std::int64_t bytes) const {
  const hw_models::NcclGroup group{system_, layout_, options_.reducible};
  return test.operation ? hw_models::nccl_estimate(*test.operation, hw_models::Bytes(bytes), group, options_.choice)
                        : hw_models::nccl_send_receive(hw_models::Bytes(bytes), group);
}

std::string Machine::network_bottleneck() const {
  if (spines_limit_) return "spine uplink";
  if (free_.inter > layout_.inter) return "leaf uplink";
  return slots_limit_ ? "PCIe" : "NIC";
}

std::string Machine::bottleneck(const NcclEstimate& estimate) const {
  if (estimate.algorithm == hw_models::NcclAlgorithm::kNone) return "none";
  if (estimate.network_bound) return network_bottleneck();
  if (!system_.nvlink) return "PCIe";
  return system_.generation == hw_models::NcclGeneration::kCdna ? "xGMI" : "NVLink";
}

void Machine::set_corrections(const hw_models::NodeCorrection& node, const hw_models::FabricCorrection& fabric) {
  system_.node = node;
  system_.fabric = fabric;
}

}  // namespace scenarios
