#include <algorithm>
#include <cmath>

#include "scenarios/predict/prediction.h"
#include "sim/memory.h"
#include "sim/reserved_memory.h"

namespace scenarios {
namespace {

using strategies::Holds;

/// A communicator per family of groups with more than one rank, and one for the pipeline's messages.
int communicators(const strategies::Program& program) {
  int count = 0;
  for (const strategies::Group& group : program.groups) {
    if (group.size(program.views[static_cast<std::size_t>(group.view)]) > 1) ++count;
  }
  return count + (program.roles.size() > 1 ? 1 : 0);
}

StageMemory stage_memory(const strategies::Role& role, const sim::RoleMemory& memory, hw_models::Bytes limit,
                         const hw_models::SoftwareSpec& software) {
  const auto part = [&](Holds holds) { return memory.at_peak[static_cast<std::size_t>(holds)].value(); };
  StageMemory stage;
  stage.stage = role.stage;
  stage.allocated_bytes = memory.peak.value();
  const hw_models::Bytes reserved = sim::reserved_memory(role, memory.most_microbatches, limit, software.defers_frees);
  stage.peak_bytes = std::llround(static_cast<double>(reserved.value()) * (1 + software.allocator_overhead));
  stage.weights = part(Holds::kWeights);
  stage.gradients = part(Holds::kGradients);
  stage.optimizer = part(Holds::kOptimizerState);
  stage.activations = part(Holds::kActivations);
  stage.other = part(Holds::kWorkspace);
  stage.microbatches = memory.most_microbatches;
  return stage;
}

}  // namespace

MemoryPrediction predict_memory(const Scenario& scenario, const strategies::Program& program) {
  const hw_models::SoftwareSpec& software = scenario.software.prices;
  MemoryPrediction memory;
  const std::vector<sim::RoleMemory> roles = sim::replay_memory(program);
  memory.capacity_bytes = scenario.gpu.memory.value();
  memory.overhead_bytes = software.context.value() + communicators(program) * software.communicator.value();
  const hw_models::Bytes limit(std::max<std::int64_t>(0, memory.capacity_bytes - memory.overhead_bytes));
  for (std::size_t r = 0; r < roles.size(); ++r) {
    memory.stages.push_back(stage_memory(program.roles[r], roles[r], limit, software));
    memory.peak_bytes = std::max(memory.peak_bytes, memory.stages.back().peak_bytes);
    memory.peak_allocated_bytes = std::max(memory.peak_allocated_bytes, memory.stages.back().allocated_bytes);
  }
  memory.device_bytes = memory.peak_bytes + memory.overhead_bytes;
  memory.fits = memory.device_bytes <= memory.capacity_bytes;
  return memory;
}

}  // namespace scenarios
