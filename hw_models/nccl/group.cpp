#include "hw_models/nccl/group.h"

#include <algorithm>
#include <array>

namespace hw_models {
namespace {

struct RateGeneration {
  double gigabytes_per_s;  ///< from this NVLink rate of a GPU on
  NcclGeneration generation;
};

// NVLink 5, 4, 3, 2: 900, 450, 300, 150 GB/s; the boundaries lie between.
constexpr std::array<RateGeneration, 4> kByNvlink{{{600, NcclGeneration::kBlackwell},
                                                   {400, NcclGeneration::kHopper},
                                                   {200, NcclGeneration::kAmpere},
                                                   {0, NcclGeneration::kVolta}}};

}  // namespace

const NcclGenerationFacts& facts(NcclGeneration generation) {
  return *std::ranges::find(kNcclGenerations, generation, &NcclGenerationFacts::generation);
}

NcclGeneration nccl_generation(const NodeSpec& node) {
  for (const NcclGenerationFacts& known : kNcclGenerations) {
    if (known.name == node.collective_generation) return known.generation;
  }
  if (node.scale_up == ScaleUpKind::kNone || node.scale_up == ScaleUpKind::kPairs) return NcclGeneration::kPcie;
  const double rate = node.scale_up_bandwidth.value() / 1e9;
  return std::ranges::find_if(kByNvlink, [rate](const RateGeneration& one) { return rate >= one.gigabytes_per_s; })
      ->generation;
}

NcclSystem nccl_system(const NodeSpec& node, const FabricSpec& fabric) {
  NcclSystem system;
  system.generation = nccl_generation(node);
  system.nvlink = node.scale_up == ScaleUpKind::kSwitch || node.scale_up == ScaleUpKind::kMesh ||
                  node.scale_up == ScaleUpKind::kLinks;
  system.nvls = node.scale_up == ScaleUpKind::kSwitch && facts(system.generation).nvls_efficiency > 0;
  system.gpus_per_nic = node.nics > 0 ? std::max(1, node.gpus / node.nics) : 1;
  system.node = node.collectives.value_or(facts(system.generation).correction);
  system.fabric = fabric.collectives.value_or(kUsualFabricCorrection);
  return system;
}

NcclSystem joint(const NcclSystem& a, const NcclSystem& b) {
  // Nodes without NVLink hold the channels of the others down, too.
  const bool pcie = a.generation == NcclGeneration::kPcie || b.generation == NcclGeneration::kPcie;
  NcclSystem system = a;
  system.generation = pcie ? NcclGeneration::kPcie : std::min(a.generation, b.generation);
  system.nvlink = a.nvlink && b.nvlink;
  system.nvls = a.nvls && b.nvls;
  system.sharp = a.sharp && b.sharp;
  system.ll128 = a.ll128 && b.ll128 &&
                 (a.generation == b.generation || std::min(a.generation, b.generation) >= NcclGeneration::kHopper);
  system.gpus_per_nic = std::max(a.gpus_per_nic, b.gpus_per_nic);
  system.node = {std::max(a.node.launch, b.node.launch), std::max(a.node.step, b.node.step),
                 std::min(a.node.bandwidth, b.node.bandwidth), std::max(a.node.ramp, b.node.ramp)};
  return system;
}

NcclSystem nccl_system(const ClusterSpec& cluster) {
  NcclSystem system = nccl_system(cluster.node_of_pool(0), cluster.fabric);
  for (std::size_t i = 1; i < cluster.pool_count(); ++i) {
    system = joint(system, nccl_system(cluster.node_of_pool(i), cluster.fabric));
  }
  return system;
}

}  // namespace hw_models
