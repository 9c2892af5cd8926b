#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/predict/prediction.h"

namespace scenarios {
namespace {

constexpr double kSecondsPerDay = 86'400;
constexpr double kHoursPerYear = 8'766;

/// Share of the step in which the GPU computes.
double activity(const StepPrediction& step) {
  using sim::TimeKind;
  std::int64_t busy = 0;
  for (const TimeKind kind : {TimeKind::kCompute, TimeKind::kRecompute, TimeKind::kOptimizer}) {
    busy += step.breakdown_ns[static_cast<std::size_t>(kind)];
  }
  return std::clamp(static_cast<double>(busy) * 1e-9 / step.time_s, 0.0, 1.0);
}

double watts_at(const hw_models::GpuSpec& gpu, double activity) {
  return gpu.idle_power.value() + activity * (gpu.active_power.value() - gpu.idle_power.value());
}

/// Mean over the ranks: each kind of GPU has its own activity.
double gpu_watts(const Scenario& scenario, const StepPrediction& step) {
  if (step.gpu_kinds.empty()) return watts_at(scenario.gpu, activity(step));
  double sum = 0;
  int ranks = 0;
  for (const GpuKindStep& kind : step.gpu_kinds) {
    sum += kind.ranks * watts_at(scenario.cluster.pools[kind.pool].gpu, kind.busy);
    ranks += kind.ranks;
  }
  return sum / ranks;
}

/// Of the nodes that hold `gpus` GPUs; a mixed cluster is in use as a whole.
double node_watts(const hw_models::ClusterSpec& cluster, int gpus) {
  if (!cluster.mixed()) {
    const int nodes = (gpus + cluster.node.gpus - 1) / cluster.node.gpus;
    return nodes * cluster.node.overhead_power.value();
  }
  double sum = 0;
  for (const hw_models::NodePool& pool : cluster.pools) sum += pool.nodes * pool.node.overhead_power.value();
  return sum;
}

/// USD per GPU-hour from the rent, or from the purchase spread over its years of use.
double gpu_hour_price(const PriceSpec& price, double gpus_per_node) {
  if (price.usd_per_node) return *price.usd_per_node / gpus_per_node / (price.years * kHoursPerYear);
  return price.usd_per_gpu_hour;
}

}  // namespace

// energy = (GPUs x (idle + activity x (active - idle)) + nodes x overhead) x hours x PUE
RunPrediction predict_run(const Scenario& scenario, const StepPrediction& step, int gpus) {
  RunPrediction run;
  run.average_gpu_watts = gpu_watts(scenario, step);
  if (scenario.training.tokens <= 0) return run;
  const double tokens_per_step =
      static_cast<double>(scenario.training.global_batch) * static_cast<double>(scenario.training.sequence_length);
  run.tokens = scenario.training.tokens;
  run.steps = static_cast<std::int64_t>(std::ceil(run.tokens / tokens_per_step));
  const double seconds = static_cast<double>(run.steps) * step.time_s;
  run.days = seconds / kSecondsPerDay;
  const double hours = seconds / 3600;
  run.gpu_hours = hours * gpus;
  const double watts = gpus * run.average_gpu_watts + node_watts(scenario.cluster, gpus);
  run.energy_kwh = watts * hours * scenario.price.pue / 1000;
  const double gpus_per_node = static_cast<double>(scenario.cluster.gpus()) / scenario.cluster.nodes;
  const double price = gpu_hour_price(scenario.price, gpus_per_node);
  if (price <= 0) {
    run.cost_basis = "no price known: set cluster.price";
    return run;
  }
  run.cost_usd = run.gpu_hours * price;
  if (scenario.price.usd_per_node) {
    run.cost_usd += run.energy_kwh * scenario.price.power_usd_per_kwh;
    run.cost_basis = fmt::format("bought: ${:.0f} per node over {:g} years, power at ${:g}/kWh",
                                 *scenario.price.usd_per_node, scenario.price.years, scenario.price.power_usd_per_kwh);
  } else {
    run.cost_basis = fmt::format("rented: ${:.2f} per GPU-hour{}", price,
                                 scenario.price.source.empty() ? "" : " (" + scenario.price.source + ")");
  }
  return run;
}

}  // namespace scenarios
