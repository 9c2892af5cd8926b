#include <nlohmann/json.hpp>

#include "scenarios/report/placement_report.h"
#include "scenarios/report/prediction_text.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

Json step_json(const StepPrediction& step) {
  Json breakdown = Json::object();
  for (int k = 0; k < sim::kTimeKinds; ++k) {
    breakdown[sim::name(static_cast<sim::TimeKind>(k))] =
        static_cast<double>(step.breakdown_ns[static_cast<std::size_t>(k)]) * 1e-9;
  }
  Json json{{"time_s", step.time_s},
            {"tokens_per_s", step.tokens_per_s},
            {"tokens_per_s_per_gpu", step.tokens_per_s_per_gpu},
            {"model_tflops_per_gpu", step.model_tflops_per_gpu},
            {"mfu", step.mfu},
            {"mfu_causal", step.mfu_causal},
            {"hfu", step.hfu},
            {"flops_convention", step.flops_convention},
            {"peak_tflops", step.peak_tflops},
            {"dtype", step.dtype},
            {"breakdown_s", breakdown},
            {"contention_s", static_cast<double>(step.contention_ns) * 1e-9}};
  for (const GpuKindStep& kind : step.gpu_kinds) {  // of a mixed cluster
    json["gpus"].push_back({{"gpu", kind.gpu}, {"ranks", kind.ranks}, {"computes", kind.busy}, {"waits", kind.waits}});
  }
  return json;
}

Json memory_object(const MemoryPrediction& memory) {
  Json stages = Json::array();
  for (const StageMemory& stage : memory.stages) {
    stages.push_back({{"stage", stage.stage},
                      {"peak_bytes", stage.peak_bytes},
                      {"allocated_bytes", stage.allocated_bytes},
                      {"weights", stage.weights},
                      {"gradients", stage.gradients},
                      {"optimizer", stage.optimizer},
                      {"activations", stage.activations},
                      {"other", stage.other},
                      {"microbatches", stage.microbatches}});
  }
  Json json{{"fits", memory.fits},
            {"capacity_bytes", memory.capacity_bytes},
            {"peak_bytes", memory.peak_bytes},
            {"peak_allocated_bytes", memory.peak_allocated_bytes},
            {"device_bytes", memory.device_bytes},
            {"stages", stages}};
  for (const GpuKindMemory& kind : memory.gpu_kinds) {  // of a mixed cluster
    json["gpus"].push_back({{"gpu", kind.gpu},
                            {"fits", kind.margin_bytes() >= 0},
                            {"capacity_bytes", kind.capacity_bytes},
                            {"stage", kind.stage},
                            {"peak_bytes", kind.peak_bytes},
                            {"device_bytes", kind.device_bytes}});
  }
  return json;
}

Json faults_json(const std::optional<FaultCost>& faults) {
  if (!faults) return nullptr;
  return {{"sound_step_s", faults->sound_step_s}, {"cost_s", faults->cost_s}};
}

}  // namespace

std::string prediction_json(const Prediction& p) {
  const Json json{
      {"scenario", p.scenario},
      {"program_fingerprint", p.fingerprint},
      {"gpus", p.gpus},
      {"step", step_json(p.step)},
      {"memory", memory_object(p.memory)},
      {"run",
       {{"tokens", p.run.tokens},
        {"steps", p.run.steps},
        {"days", p.run.days},
        {"gpu_hours", p.run.gpu_hours},
        {"cost_usd", p.run.cost_usd},
        {"cost_basis", p.run.cost_basis},
        {"energy_kwh", p.run.energy_kwh},
        {"energy_status", p.run.energy_status}}},
      {"band", {{"step_low_s", p.band.step_low_s}, {"step_high_s", p.band.step_high_s}, {"basis", p.band.basis}}},
      {"bottleneck",
       {{"name", p.bottleneck.name},
        {"problem", p.bottleneck.problem},
        {"figures", p.bottleneck.figures},
        {"advice", p.bottleneck.advice}}},
      {"placement", placement_json(p.placement)},
      {"faults", faults_json(p.faults)},
      {"warnings", p.warnings}};
  return json.dump(2) + "\n";
}

std::string memory_json(const Scenario& scenario, const MemoryPrediction& memory, const std::string& fingerprint) {
  const Json json{{"scenario", scenario.name},
                  {"program_fingerprint", fingerprint},
                  {"gpus", scenario.plan.ranks()},
                  {"memory", memory_object(memory)},
                  {"warnings", scenario.warnings}};
  return json.dump(2) + "\n";
}

}  // namespace scenarios
