// What `validate` answers: a prediction beside the run that it predicted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/run_collector.h"
#include "scenarios/execute/execution.h"
#include "scenarios/predict/prediction.h"
#include "scenarios/validate/comparison.h"

namespace scenarios {

inline constexpr int kWarmUpSteps = 2;  ///< the first touches its memory for the first time, the second settles
inline constexpr int kFewestSteps = 10;
inline constexpr double kDefaultTolerance = 0.15;

/// Peak bytes of buffers of the stage's heaviest rank; workspaces left out.
struct ComparedMemory {
  int stage = 0;
  std::int64_t predicted_bytes = 0, measured_bytes = 0;
};

struct Validation {
  Prediction prediction;  ///< of every rank, with records
  Comparison comparison;
  double tolerance = kDefaultTolerance;
  bool correctness_only = false;       ///< more ranks than processors: times mean nothing
  std::vector<ComparedMemory> memory;  ///< empty when the run was made elsewhere
  std::vector<double> losses;          ///< of all steps; likewise
  bool replicas_identical = true;
  /// Processor time of the ranks over the time of their kernels, at most 1: below, other programs ran on their cores.
  std::optional<double> core_share;
  std::vector<strategies::OperationRecord> typical_step;  ///< measured, for a timeline

  bool agrees() const;  ///< within the tolerance, or only correctness counts; replicas are identical
};

/// Predicts every rank of the scenario by itself.
Prediction predict_ranks(const Scenario& scenario);

/// A run of the same scenario, with records.
Validation validate(Prediction prediction, const Execution& execution, double tolerance);
/// Records of a run elsewhere.
Validation validate(Prediction prediction, const std::vector<strategies::OperationRecord>& records, double tolerance);

std::string validation_json(const Scenario& scenario, const Validation& validation);
std::string validation_text(const Validation& validation);
/// Both timelines, the predicted above the measured.
std::string validation_trace(const Validation& validation);

}  // namespace scenarios
