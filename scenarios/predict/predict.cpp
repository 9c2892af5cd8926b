#include <string>

#include "scenarios/predict/placement_warnings.h"
#include "scenarios/predict/prediction.h"
#include "strategies/build_program.h"
#include "strategies/program/fingerprint.h"

namespace scenarios {
namespace {

/// Recomputed share of the forward: all layers (full), the attention products or every second layer (selective, as the
/// stack means it), the products out of the latents; the LM head never.
double recomputed_flops(const Scenario& scenario, const strategies::TokenFlops& flops) {
  const double heads = 6.0 * (1 + scenario.model.extra_prediction_layers) * static_cast<double>(scenario.model.hidden) *
                       static_cast<double>(scenario.model.vocabulary);
  const double all = (flops.dense - heads + flops.attention) / 3;
  switch (scenario.plan.recompute) {
    case strategies::Recompute::kNone:
      return 0;
    case strategies::Recompute::kSelective: {
      const int layers = scenario.model.layers;
      const bool whole = scenario.software.implementation.selective == strategies::SelectiveRecompute::kAlternateLayers;
      return whole ? all * (layers / 2) / layers : flops.attention / 3;
    }
    case strategies::Recompute::kUpProjection:
      return strategies::latent_up_flops_per_token(scenario.model);
    case strategies::Recompute::kFull:
      return all;
  }
  return 0;
}

std::string flops_convention(const strategies::ModelSpec& model) {
  std::string text =
      "6 x matmul parameters (with LM head) + 12 x layers x heads x head_dim x sequence per token: full attention "
      "square, forward and backward, no recomputation";
  if (model.latent) text += "; heads as wide as the mean of keys and values";
  if (model.window) text += "; of windows the band on both sides of a token";
  if (model.extra_prediction_layers > 0) text += "; extra prediction layers with a head each";
  return text;
}

/// Mean over the GPUs of the cluster.
double peak_flops(const Scenario& scenario) {
  const hw_models::DType dtype = scenario.training.precision;
  if (!scenario.cluster.mixed()) return scenario.gpu.peak(dtype).value();
  double sum = 0;
  for (const hw_models::NodePool& pool : scenario.cluster.pools) {
    sum += pool.gpu.peak(dtype).value() * pool.nodes * pool.node.gpus;
  }
  return sum / scenario.cluster.gpus();
}

StepPrediction predict_step(const Scenario& scenario, const strategies::Program& program, const PlacedJob& job,
                            const sim::StepResult& result) {
  StepPrediction step;
  step.time_s = static_cast<double>(result.step_ns) * 1e-9;
  step.tokens_per_s = static_cast<double>(program.tokens_per_step) / step.time_s;
  step.tokens_per_s_per_gpu = step.tokens_per_s / program.ranks();
  const strategies::TokenFlops flops =
      strategies::training_flops_per_token(scenario.model, scenario.training.sequence_length);
  const double peak = peak_flops(scenario);
  const double rate = step.tokens_per_s_per_gpu;
  step.model_tflops_per_gpu = (flops.dense + flops.attention) * rate * 1e-12;
  step.mfu = (flops.dense + flops.attention) * rate / peak;
  step.mfu_causal = (flops.dense + flops.attention / 2) * rate / peak;
  step.hfu = step.mfu + recomputed_flops(scenario, flops) * rate / peak;
  step.flops_convention = flops_convention(scenario.model);
  step.peak_tflops = peak * 1e-12;
  step.dtype = hw_models::info(scenario.training.precision).name;
  step.breakdown_ns = result.mean;
  step.contention_ns = result.contention_ns;
  step.gpu_kinds = gpu_kind_steps(job, result);
  return step;
}

std::optional<FaultCost> predict_faults(const Scenario& scenario, const strategies::Program& program, double step_s) {
  if (!scenario.faults.any()) return std::nullopt;
  const double sound_s = static_cast<double>(sound_step_ns(scenario, program)) * 1e-9;
  return FaultCost{.sound_step_s = sound_s, .cost_s = step_s - sound_s};
}

}  // namespace

PlacementPrediction predict_placement(const Scenario& scenario, const strategies::Program& program,
                                      const PlacedJob& job) {
  PlacementPrediction placement;
  placement.rule = scenario.placement.rule;
  placement.families = strategies::spread_families(program, job.placement, job.cluster);
  placement.warnings = placement_warnings(scenario, program, job, placement.families);
  return placement;
}

Prediction predict(const Scenario& scenario, const SimulationChoice& choice) {
  Prediction prediction;
  prediction.scenario = scenario.name;
  prediction.warnings = scenario.warnings;
  prediction.program =
      strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
  const strategies::Program& program = prediction.program;
  prediction.fingerprint = strategies::fingerprint(program);
  prediction.gpus = program.ranks();
  const PlacedJob job = place_job(scenario, program);
  prediction.placement = predict_placement(scenario, program, job);
  const std::vector<std::string>& found = prediction.placement.warnings;
  prediction.warnings.insert(prediction.warnings.end(), found.begin(), found.end());
  prediction.result = simulate_scenario(scenario, program, job, choice);
  if (std::string text = routing_warning(scenario, program, job, prediction.result.step_ns); !text.empty()) {
    prediction.warnings.push_back(std::move(text));
  }
  prediction.step = predict_step(scenario, program, job, prediction.result);
  prediction.faults = predict_faults(scenario, program, prediction.step.time_s);
  prediction.memory = predict_memory(scenario, program);
  prediction.run = predict_run(scenario, prediction.step, prediction.gpus);
  prediction.band = predict_band(prediction.step.time_s);
  prediction.bottleneck = find_bottleneck(scenario, prediction);
  return prediction;
}

}  // namespace scenarios
