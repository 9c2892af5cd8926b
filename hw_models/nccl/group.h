// What NCCL knows of a communicator when it chooses: links, rates, switches that reduce.
#pragma once

#include "hw_models/nccl/constants.h"
#include "hw_models/network.h"

namespace hw_models {

/// What the machine and its settings allow.
struct NcclSystem {
  NcclGeneration generation = NcclGeneration::kHopper;
  bool nvlink = true;  ///< or xGMI
  bool nvls = false;   ///< NVLink switches that reduce
  bool sharp = false;  ///< network switches that reduce, with their plug-in
  int gpus_per_nic = 1;
  NodeCorrection node;
  FabricCorrection fabric;
  bool ll128 = true;  ///< GPUs of one generation, or all from Hopper on
};

/// `node` and `fabric` speak for themselves where their catalogue files do, else their generation does.
NcclSystem nccl_system(const NodeSpec& node, const FabricSpec& fabric);
/// What members on nodes of either kind agree on: NCCL tunes for the oldest of the GPUs, uses NVLS only where all have
/// it and LL128 where all are of one generation or from Hopper on (tuning.cc); the slower of the corrections.
NcclSystem joint(const NcclSystem& a, const NcclSystem& b);
/// Of a mixed cluster: joint over all of its pools.
NcclSystem nccl_system(const ClusterSpec& cluster);
NcclGeneration nccl_generation(const NodeSpec& node);
const NcclGenerationFacts& facts(NcclGeneration generation);

struct NcclGroup {
  const NcclSystem& system;
  const GroupLayout& layout;  ///< `domains` are NCCL's nodes: an NVL72 rack is one
  bool reducible = true;      ///< the switches can add this data type (not int8)

  const NcclGenerationFacts& facts() const { return hw_models::facts(system.generation); }
  int nodes() const { return layout.domains; }
  int ranks_per_node() const { return layout.ranks_per_domain; }
  std::size_t nodes_index() const { return layout.domains > 2 ? 2 : static_cast<std::size_t>(layout.domains - 1); }
};

}  // namespace hw_models
