#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/predict/prediction.h"

namespace scenarios {
namespace {

using sim::TimeKind;

struct Advice {
  TimeKind kind;
  std::string_view text;
};

constexpr std::array<Advice, 13> kAdvice{{
    {TimeKind::kCompute, "the GPUs compute most of the time: only faster or more GPUs, or a lower precision, help"},
    {TimeKind::kRecompute, "save memory elsewhere (more pipeline or tensor ranks, ZeRO 1) and recompute less"},
    {TimeKind::kOptimizer, "shard the optimizer (zero: 1) or take a larger global batch"},
    {TimeKind::kHost,
     "the host issues kernels too slowly: larger micro-batches, less tensor parallelism, or CUDA graphs"},
    {TimeKind::kExposedTensor,
     "keep tensor groups inside one NVLink domain, use sequence parallelism, or trade tensor for pipeline ranks"},
    {TimeKind::kExposedData,
     "gradient synchronisation shows: a faster network between nodes, a larger global batch, or fewer data replicas"},
    {TimeKind::kExposedPipeline, "stages wait for messages: neighbouring stages need a faster link, or fewer stages"},
    {TimeKind::kExposedContext, "context exchange shows: keep context groups inside one NVLink domain"},
    {TimeKind::kExposedExpert, "expert exchange shows: keep expert groups inside one NVLink domain"},
    {TimeKind::kBubble, "stages idle: more microbatches per replica, 'schedule: interleaved', or fewer stages"},
    {TimeKind::kImbalance, "stages differ: move layers away from the stage with the LM head (layers_per_stage)"},
    {TimeKind::kStraggler, "one slow rank holds up the rest: replace it"},
    {TimeKind::kDataStall, "the input pipeline cannot feed the GPUs: raise training.input.samples_per_s"},
}};

/// Bytes of weights, gradients and optimizer state of the whole model on one GPU.
std::int64_t model_state_bytes(const Scenario& scenario) {
  const auto parameters = static_cast<double>(strategies::count_parameters(scenario.model).total);
  const bool wide = scenario.training.precision == hw_models::DType::kFp32;
  const double gradient = hw_models::info(scenario.software.implementation.gradient).bytes;
  const bool master = !wide && scenario.software.implementation.master_weights;
  return static_cast<std::int64_t>(parameters * ((wide ? 4 : 2) + gradient + (master ? 12 : 8)));
}

std::string days_text(double days) {
  if (days > 3 * 365) return fmt::format("{:.0f} years", days / 365);
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
  bottleneck.figures = fmt::format("weights, gradients and optimizer state take {:.1f} GiB, one GPU has {:.1f} GiB",
                                   static_cast<double>(state) / (1 << 30), static_cast<double>(capacity) / (1 << 30));
  if (scenario.training.tokens > 0) {
    bottleneck.figures += fmt::format("; one replica ({} GPUs) would need {} for the tokens",
                                      prediction.gpus / std::max(1, scenario.plan.data), days_text(replica_days));
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

}  // namespace

Bottleneck find_bottleneck(const Scenario& scenario, const Prediction& prediction) {
  Bottleneck bottleneck;
  name_problem(scenario, prediction, bottleneck);
  if (!prediction.memory.fits) {
    bottleneck.name = "memory";
    bottleneck.advice = fmt::format(
        "{:.1f} GiB too much on the heaviest stage: more tensor or pipeline ranks, zero: 1, recompute, or a smaller "
        "micro_batch",
        -static_cast<double>(prediction.memory.margin_bytes()) / (1 << 30));
    return bottleneck;
  }
  // What could be won back: everything but compute. Compute is the bottleneck when no loss takes a tenth of the step.
  const sim::Breakdown& breakdown = prediction.step.breakdown_ns;
  const auto of = [&](TimeKind kind) { return breakdown[static_cast<std::size_t>(kind)]; };
  const Advice* worst = &kAdvice.front();
  for (const Advice& advice : kAdvice) {
    if (advice.kind == TimeKind::kCompute) continue;
    const bool candidate = worst->kind == TimeKind::kCompute ? of(advice.kind) * 10 >= prediction.result.step_ns
                                                             : of(advice.kind) > of(worst->kind);
    if (candidate) worst = &advice;
  }
  if (starved(scenario, prediction)) worst = &*std::ranges::find(kAdvice, TimeKind::kDataStall, &Advice::kind);
  bottleneck.name = sim::name(worst->kind);
  bottleneck.advice = worst->text;
  return bottleneck;
}

}  // namespace scenarios
