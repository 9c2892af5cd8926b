// A mixed cluster by kind of GPU: which there are, and what they do in a step.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hw_models/cluster.h"
#include "scenarios/predict/placed_job.h"
#include "sim/step_result.h"

namespace scenarios {

/// First pools of the kinds of GPU, in order of the nodes; empty where all nodes are alike.
std::vector<std::size_t> gpu_kinds(const hw_models::ClusterSpec& cluster);
/// The one of them that a GPU belongs to.
std::size_t kind_of(const hw_models::Cluster& cluster, int gpu);
/// Name of the GPU of a pool; with its node's where another kind has the same name.
std::string kind_name(const hw_models::ClusterSpec& cluster, std::size_t pool);

/// What the GPUs of one kind do in a step of a mixed cluster. Shares of the step, means over their ranks.
struct GpuKindStep {
  std::string gpu;
  std::size_t pool = 0;  ///< the first that has them
  int ranks = 0;
  double busy = 0;   ///< computing
  double waits = 0;  ///< for other ranks: bubble, imbalance and straggler
};

/// Of a mixed cluster; else empty.
std::vector<GpuKindStep> gpu_kind_steps(const PlacedJob& job, const sim::StepResult& result);

}  // namespace scenarios
