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

NcclSystem nccl_system(const ClusterSpec& cluster) {
  const NodeSpec& node = cluster.node;
  NcclSystem system;
  system.generation = nccl_generation(node);
  system.nvlink = node.scale_up == ScaleUpKind::kSwitch || node.scale_up == ScaleUpKind::kMesh ||
                  node.scale_up == ScaleUpKind::kLinks;
  system.nvls = node.scale_up == ScaleUpKind::kSwitch && facts(system.generation).nvls_efficiency > 0;
  system.gpus_per_nic = node.nics > 0 ? std::max(1, node.gpus / node.nics) : 1;
  system.node = node.collectives.value_or(facts(system.generation).correction);
  system.fabric = cluster.fabric.collectives.value_or(kUsualFabricCorrection);
  return system;
}

}  // namespace hw_models
