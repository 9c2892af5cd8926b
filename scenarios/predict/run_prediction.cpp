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

/// USD per GPU-hour from the rent, or from the purchase spread over its years of use.
double gpu_hour_price(const PriceSpec& price, int gpus_per_node) {
  if (price.usd_per_node) return *price.usd_per_node / gpus_per_node / (price.years * kHoursPerYear);
  return price.usd_per_gpu_hour;
}

}  // namespace

// energy = (GPUs x (idle + activity x (active - idle)) + nodes x overhead) x hours x PUE
RunPrediction predict_run(const Scenario& scenario, const StepPrediction& step, int gpus) {
  RunPrediction run;
  const hw_models::GpuSpec& gpu = scenario.gpu;
  run.average_gpu_watts = gpu.idle_power.value() + activity(step) * (gpu.active_power.value() - gpu.idle_power.value());
  if (scenario.training.tokens <= 0) return run;
  const double tokens_per_step =
      static_cast<double>(scenario.training.global_batch) * static_cast<double>(scenario.training.sequence_length);
  run.tokens = scenario.training.tokens;
  run.steps = static_cast<std::int64_t>(std::ceil(run.tokens / tokens_per_step));
  const double seconds = static_cast<double>(run.steps) * step.time_s;
  run.days = seconds / kSecondsPerDay;
  const double hours = seconds / 3600;
  run.gpu_hours = hours * gpus;
  const int nodes = (gpus + scenario.cluster.node.gpus - 1) / scenario.cluster.node.gpus;
  const double watts = gpus * run.average_gpu_watts + nodes * scenario.cluster.node.overhead_power.value();
  run.energy_kwh = watts * hours * scenario.price.pue / 1000;
  const double price = gpu_hour_price(scenario.price, scenario.cluster.node.gpus);
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
