#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "scenarios/predict/advice.h"
#include "scenarios/predict/prediction.h"
#include "strategies/transformer/parameters.h"

namespace scenarios {
namespace {

using sim::TimeKind;

/// Bytes of weights, gradients and optimizer state of the whole model on one GPU.
std::int64_t model_state_bytes(const Scenario& scenario) {
  const auto parameters = static_cast<double>(strategies::count_parameters(scenario.model).total);
  const bool wide = scenario.training.precision == hw_models::DType::kFp32;
  const double gradient = hw_models::info(scenario.software.implementation.gradient).bytes;
  const bool master = scenario.software.implementation.keeps_master(scenario.training.precision);
  const auto optimizer = static_cast<double>(strategies::state_bytes(scenario.training.optimizer, master));
  return static_cast<std::int64_t>(parameters * ((wide ? 4 : 2) + gradient + optimizer));
}

std::string days_text(double days) {
  if (days > 3 * 365) return fmt::format("{:.0f} years", days / 365);
  if (days < 1) return fmt::format("{:.2g} hours", days * 24);
  return fmt::format("{:.1f} days", days);
}

/// Speed: one replica would need too long for the data. Capacity: the model does not fit one GPU.
void name_problem(const Scenario& scenario, const Prediction& prediction, Bottleneck& bottleneck) {
  constexpr double kPatienceDays = 30;
  const std::int64_t state = model_state_bytes(scenario);
  const std::int64_t capacity = prediction.memory.capacity_bytes;
  const bool too_big = state > capacity || !prediction.memory.fits;
  const double replica_days = prediction.run.days * scenario.plan.data;
  const bool too_slow = scenario.training.tokens > 0 ? replica_days > kPatienceDays : scenario.plan.data > 1;
  bottleneck.problem = too_big && too_slow ? "both" : too_big ? "capacity" : "speed";
  bottleneck.figures = fmt::format("weights, gradients and optimizer state take {:.4g} GiB, one GPU has {:.4g} GiB",
                                   static_cast<double>(state) / (1 << 30), static_cast<double>(capacity) / (1 << 30));
  if (scenario.training.tokens > 0) {
    const int replica = prediction.gpus / std::max(1, scenario.plan.data);
    bottleneck.figures += fmt::format("; one replica ({} {}) would need {} for the tokens", replica,
                                      replica == 1 ? "GPU" : "GPUs", days_text(replica_days));
  }
}

/// The input alone takes the whole step. Stages that wait for a starved first stage then count as other kinds of
/// idling.
bool starved(const Scenario& scenario, const Prediction& prediction) {
  constexpr double kWholeStep = 0.98;
  if (!scenario.training.input_samples_per_s) return false;
  const double input_s = static_cast<double>(scenario.training.global_batch) / *scenario.training.input_samples_per_s;
  return input_s * 1e9 >= kWholeStep * static_cast<double>(prediction.result.step_ns);
}

/// What could be won back: everything but compute. Compute itself when no loss takes a tenth of the step.
TimeKind largest_loss(const Prediction& prediction) {
  const sim::Breakdown& breakdown = prediction.step.breakdown_ns;
  auto worst = TimeKind::kCompute;
  std::int64_t largest = prediction.result.step_ns / 10;
  for (int k = 0; k < sim::kTimeKinds; ++k) {
    const auto kind = static_cast<TimeKind>(k);
    if (kind == TimeKind::kCompute || kind == TimeKind::kOther || breakdown[static_cast<std::size_t>(k)] < largest)
      continue;
    worst = kind;
    largest = breakdown[static_cast<std::size_t>(k)];
  }
  return worst;
}

/// " (rank 5 computes at 0.8 of the others' speed, NIC 2 of node 3 is dead)"; empty without slow GPUs and dead NICs.
std::string faults_text(const Faults& faults) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> texts;
  for (const sim::SlowGpu& slow : faults.slow_gpus) {
    texts.push_back(fmt::format("rank {} computes at {:g} of the others' speed", slow.rank.value, slow.speed));
  }
  for (const hw_models::DeadNic& dead : faults.dead_nics) {
    texts.push_back(fmt::format("NIC {} of node {} is dead", dead.nic, dead.node));
  }
  if (texts.empty()) return "";
  const std::size_t more = texts.size() - std::min(texts.size(), kMost);
  texts.resize(texts.size() - more);
  return fmt::format(" ({}{})", fmt::join(texts, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

/// "the heaviest stage", and on which GPU where there are several kinds.
std::string heaviest_stage(const MemoryPrediction& memory) {
  if (memory.gpu_kinds.empty()) return "the heaviest stage";
  const auto tightest = std::ranges::min_element(memory.gpu_kinds, {}, &GpuKindMemory::margin_bytes);
  return fmt::format("stage {} on {}", tightest->stage, tightest->gpu);
}

/// Of a mixed cluster: which GPUs wait for which, and what helps; empty where none waits.
std::string waiting_text(const StepPrediction& step) {
  constexpr double kNoticed = 0.05;  // less, and one layer more or less would turn it round
  if (step.gpu_kinds.size() < 2) return "";
  const auto& [idle, busy] = std::ranges::minmax_element(step.gpu_kinds, std::greater<>(), &GpuKindStep::waits);
  if (idle->waits - busy->waits < kNoticed) return "";
  const auto spent = [&](TimeKind kind) { return step.breakdown_ns[static_cast<std::size_t>(kind)]; };
  const bool replicas = spent(TimeKind::kStraggler) > spent(TimeKind::kImbalance);
  return fmt::format(
      "{} waits for {}, {:.0f} % of its step against {:.0f} %: {}give the stages on {} fewer layers "
      "(layers_per_stage)",
      idle->gpu, busy->gpu, 100 * idle->waits, 100 * busy->waits,
      replicas ? "let every pipeline stage lie on one kind of GPU (pp last in rank_order) and " : "", busy->gpu);
}

/// `advice_against` for a mixed cluster, whose slow ranks are no accident.
std::string advice_for(TimeKind worst, const Scenario& scenario, const StepPrediction& step) {
  const std::string waiting = waiting_text(step);
  if (waiting.empty()) return advice_against(worst, scenario);
  if (worst == TimeKind::kStraggler) return "replicas differ in speed: " + waiting;
  return fmt::format("{}; {}", advice_against(worst, scenario), waiting);
}

}  // namespace

Bottleneck find_bottleneck(const Scenario& scenario, const Prediction& prediction) {
  Bottleneck bottleneck;
  name_problem(scenario, prediction, bottleneck);
  if (!prediction.memory.fits) {
    bottleneck.name = "memory";
    bottleneck.advice =
        fmt::format("{:.1f} GiB too much on {}: {}", -static_cast<double>(prediction.memory.margin_bytes()) / (1 << 30),
                    heaviest_stage(prediction.memory), advice_against_memory(scenario));
    return bottleneck;
  }
  const TimeKind worst = starved(scenario, prediction) ? TimeKind::kDataStall : largest_loss(prediction);
  bottleneck.name = sim::name(worst);
  bottleneck.advice = advice_for(worst, scenario, prediction.step);
  if (worst == TimeKind::kStraggler) bottleneck.advice += faults_text(scenario.faults);
  return bottleneck;
}

}  // namespace scenarios
