#include "scenarios/validate/validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "scenarios/load/diagnostics.h"
#include "scenarios/report/trace.h"
#include "sim/rank_classes.h"

namespace scenarios {
namespace {

std::vector<ComparedMemory> compare_memory(const Prediction& prediction, const executor::RunResult& run) {
  std::vector<ComparedMemory> result;
  for (const StageMemory& stage : prediction.memory.stages) {
    ComparedMemory row{stage.stage, stage.allocated_bytes, 0};
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      const strategies::Program& program = prediction.program;
      if (program.roles[program.role_of_rank[rank]].stage != stage.stage) continue;
      row.measured_bytes = std::max(row.measured_bytes, run.ranks[rank].peak_bytes);
    }
    result.push_back(row);
  }
  return result;
}

double kernel_seconds(const Prediction& prediction, const std::vector<strategies::OperationRecord>& records) {
  double seconds = 0;
  for (const strategies::OperationRecord& record : records) {
    if (is_kernel(prediction.program, record)) seconds += 1e-9 * static_cast<double>(record.end_ns - record.begin_ns);
  }
  return seconds;
}

}  // namespace

bool Validation::agrees() const {
  return replicas_identical && (correctness_only || std::abs(comparison.error()) <= tolerance);
}

Prediction predict_ranks(const Scenario& scenario) { return predict(scenario, {.records = true, .unfolded = true}); }

Validation validate(Prediction prediction, const std::vector<strategies::OperationRecord>& records, double tolerance) {
  Validation result;
  try {
    result.comparison =
        compare(prediction.program, prediction.step.time_s, prediction.result.records, records, kWarmUpSteps);
  } catch (const std::invalid_argument& problem) {
    throw InputError(std::string("error: the records are not whole: ") + problem.what() + "\n");
  }
  for (const strategies::OperationRecord& record : records) {
    if (record.instance.step == result.comparison.typical_step) result.typical_step.push_back(record);
  }
  result.prediction = std::move(prediction);
  result.tolerance = tolerance;
  return result;
}

Validation validate(Prediction prediction, const Execution& execution, double tolerance) {
  double processor_s = 0;
  for (const executor::RankSummary& rank : execution.result.ranks) {
    processor_s += 1e-9 * static_cast<double>(rank.processor_ns);
  }
  const double kernels = kernel_seconds(prediction, execution.result.records);
  Validation result = validate(std::move(prediction), execution.result.records, tolerance);
  if (kernels > 0) result.core_share = std::min(1.0, processor_s / kernels);
  result.correctness_only = execution.oversubscribed;
  result.memory = compare_memory(result.prediction, execution.result);
  for (const executor::StepFigures& step : execution.result.steps) result.losses.push_back(step.loss);
  result.replicas_identical = execution.result.replicas_identical;
  return result;
}

std::string validation_trace(const Validation& validation) {
  const strategies::Program& program = validation.prediction.program;
  const sim::RankClasses ranks = sim::single_ranks(program);
  const std::array<Timeline, 2> timelines{
      {{"predicted", &program, &validation.prediction.result.classes, validation.prediction.result.records},
       {"measured", &program, &ranks, validation.typical_step}}};
  return trace_json(timelines);
}

}  // namespace scenarios
