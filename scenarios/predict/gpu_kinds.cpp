#include "scenarios/predict/gpu_kinds.h"

#include <algorithm>
#include <initializer_list>

namespace scenarios {
namespace {

using sim::TimeKind;

double sum_of(const sim::Breakdown& breakdown, std::initializer_list<TimeKind> kinds) {
  std::int64_t sum = 0;
  for (const TimeKind kind : kinds) sum += breakdown[static_cast<std::size_t>(kind)];
  return static_cast<double>(sum);
}

}  // namespace

std::vector<std::size_t> gpu_kinds(const hw_models::ClusterSpec& cluster) {
  std::vector<std::size_t> kinds;
  for (std::size_t pool = 0; pool < cluster.pools.size(); ++pool) {
    if (hw_models::first_of_kind(cluster, pool) == pool) kinds.push_back(pool);
  }
  return kinds;
}

std::size_t kind_of(const hw_models::Cluster& cluster, int gpu) {
  return hw_models::first_of_kind(cluster.spec(), static_cast<std::size_t>(cluster.pool_of(gpu)));
}

std::string kind_name(const hw_models::ClusterSpec& cluster, std::size_t pool) {
  const std::string& gpu = cluster.pools[pool].gpu.name;
  const auto same_name = [&](std::size_t kind) { return cluster.pools[kind].gpu.name == gpu; };
  return std::ranges::count_if(gpu_kinds(cluster), same_name) > 1 ? gpu + " of " + cluster.pools[pool].node.name : gpu;
}

std::vector<GpuKindStep> gpu_kind_steps(const PlacedJob& job, const sim::StepResult& result) {
  const hw_models::ClusterSpec& cluster = job.cluster.spec();
  std::vector<GpuKindStep> kinds;
  for (const std::size_t pool : gpu_kinds(cluster)) {
    kinds.push_back({.gpu = kind_name(cluster, pool), .pool = pool});
  }
  for (std::size_t i = 0; i < result.classes.size() && cluster.mixed(); ++i) {
    const sim::RankClass& each = result.classes.all[i];
    const int gpu = job.placement.gpu[static_cast<std::size_t>(each.representative.value)];
    GpuKindStep& kind = *std::ranges::find(kinds, kind_of(job.cluster, gpu), &GpuKindStep::pool);
    const sim::Breakdown& breakdown = result.of_class[i].breakdown;
    const double steps = static_cast<double>(each.ranks) / static_cast<double>(result.step_ns);
    kind.ranks += static_cast<int>(each.ranks);
    kind.busy += steps * sum_of(breakdown, {TimeKind::kCompute, TimeKind::kRecompute, TimeKind::kOptimizer});
    kind.waits += steps * sum_of(breakdown, {TimeKind::kBubble, TimeKind::kImbalance, TimeKind::kStraggler});
  }
  for (GpuKindStep& kind : kinds) {
    if (kind.ranks == 0) continue;
    kind.busy /= kind.ranks;
    kind.waits /= kind.ranks;
  }
  return kinds;
}

}  // namespace scenarios
