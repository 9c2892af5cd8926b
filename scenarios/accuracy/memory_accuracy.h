// Predicted memory of measured runs, scored by what was measured and on which rank; and the verdicts fit or out of
// memory.
//
//   error   = ln(predicted / measured), both in GiB
//   verdict: device_bytes <= capacity is a prediction that the plan fits
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/accuracy/errors.h"
#include "scenarios/accuracy/measured_run.h"
#include "scenarios/catalog.h"
#include "scenarios/predict/prediction.h"

namespace scenarios {

enum class Verdict { kRight, kFalseFit, kFalseOom };

/// What became of one row.
struct MemoryRow {
  std::size_t run = 0;  ///< index in MemoryAccuracy::runs
  std::string skipped;  ///< reason; empty = predicted
  double device_gib = 0, capacity_gib = 0;
  bool fits = false;
  bool scored_kind = false;             ///< the measured figure says what it is and of which rank
  std::optional<double> predicted_gib;  ///< counterpart of the measured figure; of one that is not scored: the nearest
  std::optional<double> error;          ///< only with a measured figure
  std::optional<Verdict> verdict;       ///< only for the outcomes fit and oom

  bool scored() const { return error && scored_kind; }
};

struct Verdicts {
  int rows = 0, right = 0;
  int false_fit = 0;  ///< ran out of memory, predicted to fit
  int false_oom = 0;  ///< ran, predicted to run out of memory
};

struct FamilyMemory {
  std::string family;
  ErrorSummary errors;
  Verdicts verdicts;
};

/// Figures whose kind does not say what they count: errors against reserved memory of the heaviest stage, for
/// orientation. In no family's errors and not in the total.
struct UnscoredKind {
  std::string family, kind;
  ErrorSummary errors;
};

struct MemoryAccuracy {
  std::vector<MeasuredRun> runs;
  std::vector<MemoryRow> rows;         ///< one per run
  std::map<std::string, int> skipped;  ///< by reason
  std::vector<FamilyMemory> families;  ///< by name
  std::vector<UnscoredKind> unscored;  ///< by family and kind
  int unknown_failures = 0;            ///< predicted, but failed for an unknown cause
  ErrorSummary total;
  Verdicts verdicts;
};

/// The predicted bytes that a figure of `kind` measured; nullopt for kinds that are not scored.
std::optional<std::int64_t> measured_quantity(const std::string& kind, const MemoryPrediction& memory);

/// Predicts and scores the memory of every run. Deterministic; prices nothing.
MemoryAccuracy evaluate_memory(std::vector<MeasuredRun> runs, const Catalog& catalog);

}  // namespace scenarios
