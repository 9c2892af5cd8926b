#include <algorithm>
#include <cmath>
#include <map>
#include <set>

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
  return count + (program.roles.back().stage > 0 ? 1 : 0);
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

/// One kind of GPU and the roles whose ranks it hosts.
struct Host {
  std::string gpu;
  std::int64_t capacity_bytes = 0;
  std::set<std::size_t> roles;
};

/// In order of the nodes; one where all GPUs are alike.
std::vector<Host> hosts_of(const Scenario& scenario, const strategies::Program& program) {
  std::vector<Host> hosts;
  if (!scenario.cluster.mixed()) {
    Host& all = hosts.emplace_back(Host{scenario.gpu.name, scenario.gpu.memory.value(), {}});
    for (std::size_t role = 0; role < program.roles.size(); ++role) all.roles.insert(role);
    return hosts;
  }
  const hw_models::ClusterSpec& cluster = scenario.cluster;
  const std::vector<std::size_t> kinds = gpu_kinds(cluster);
  for (const std::size_t pool : kinds) {
    hosts.push_back({kind_name(cluster, pool), cluster.pools[pool].gpu.memory.value(), {}});
  }
  const PlacedJob job = place_job(scenario, program);
  for (std::size_t rank = 0; rank < program.role_of_rank.size(); ++rank) {
    const auto kind = std::ranges::find(kinds, kind_of(job.cluster, job.placement.gpu[rank])) - kinds.begin();
    hosts[static_cast<std::size_t>(kind)].roles.insert(program.role_of_rank[rank]);
  }
  return hosts;
}

/// The stages that one kind of GPU hosts.
class HostedStages {
 public:
  HostedStages(const strategies::Program& program, const hw_models::SoftwareSpec& software, std::int64_t overhead)
      : program_(program), software_(software), overhead_(overhead), roles_(sim::replay_memory(program)) {}

  struct Stage {
    std::int64_t capacity_bytes = 0;
    StageMemory memory;
  };
  using Stages = std::map<std::size_t, Stage>;  ///< by role, on the smallest GPU that hosts it

  GpuKindMemory on(const Host& host, Stages& stages) const {
    GpuKindMemory memory{.gpu = host.gpu, .capacity_bytes = host.capacity_bytes};
    const hw_models::Bytes limit(std::max<std::int64_t>(0, host.capacity_bytes - overhead_));
    for (const std::size_t role : host.roles) {
      const StageMemory stage = stage_memory(program_.roles[role], roles_[role], limit, software_);
      if (stage.peak_bytes > memory.peak_bytes) memory.stage = stage.stage;
      memory.peak_bytes = std::max(memory.peak_bytes, stage.peak_bytes);
      memory.peak_allocated_bytes = std::max(memory.peak_allocated_bytes, stage.allocated_bytes);
      const auto [known, first] = stages.try_emplace(role, Stage{host.capacity_bytes, stage});
      if (!first && host.capacity_bytes < known->second.capacity_bytes) known->second = {host.capacity_bytes, stage};
    }
    memory.device_bytes = memory.peak_bytes + overhead_;
    return memory;
  }

 private:
  const strategies::Program& program_;
  const hw_models::SoftwareSpec& software_;
  std::int64_t overhead_;
  std::vector<sim::RoleMemory> roles_;
};

/// The fuller one where several roles share a stage.
void add_stage(const StageMemory& stage, std::vector<StageMemory>& stages) {
  if (stages.empty() || stages.back().stage != stage.stage) {
    stages.push_back(stage);
  } else if (stage.peak_bytes > stages.back().peak_bytes) {
    stages.back() = stage;
  }
}

}  // namespace

MemoryPrediction predict_memory(const Scenario& scenario, const strategies::Program& program) {
  const hw_models::SoftwareSpec& software = scenario.software.prices;
  MemoryPrediction memory;
  memory.overhead_bytes = software.context.value() + communicators(program) * software.communicator.value();
  const HostedStages hosted(program, software, memory.overhead_bytes);
  HostedStages::Stages stages;
  for (const Host& host : hosts_of(scenario, program)) memory.gpu_kinds.push_back(hosted.on(host, stages));
  for (const auto& [role, stage] : stages) add_stage(stage.memory, memory.stages);
  const GpuKindMemory& tightest = *std::ranges::min_element(memory.gpu_kinds, {}, &GpuKindMemory::margin_bytes);
  memory.capacity_bytes = tightest.capacity_bytes;
  memory.peak_bytes = tightest.peak_bytes;
  memory.peak_allocated_bytes = tightest.peak_allocated_bytes;
  memory.device_bytes = tightest.device_bytes;
  memory.fits = memory.margin_bytes() >= 0;
  if (!scenario.cluster.mixed()) memory.gpu_kinds.clear();
  return memory;
}

}  // namespace scenarios
