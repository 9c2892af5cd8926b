// Predictions of many measured runs, scored.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/accuracy/errors.h"
#include "scenarios/accuracy/measured_run.h"
#include "scenarios/catalog.h"

namespace scenarios {

/// What became of one row.
struct RowResult {
  std::size_t run = 0;  ///< index in AccuracyReport::runs
  std::string skipped;  ///< reason; empty = predicted
  double predicted_s = 0;
  double ideal_s = 0;                      ///< at the dense peak without any loss
  double error = 0;                        ///< ln(predicted / measured)
  std::optional<double> full_recompute_s;  ///< recompute unknown: the other end of the bracket
  bool usual_software = false, usual_network = false;
  bool buyer = false;  ///< in the buyer subset

  bool scored() const { return skipped.empty() && !full_recompute_s; }
};

struct Split {
  std::string name;  ///< "GPUs 64-511", "micro-batch 1", "tensor > 8", "pipeline > 1"
  ErrorSummary errors;
};

struct FamilyAccuracy {
  std::string family;
  ErrorSummary errors;
  int bracketed = 0, inside = 0;  ///< rows of unknown recompute; measured within none ... full
};

struct AccuracyReport {
  std::vector<MeasuredRun> runs;
  std::vector<RowResult> rows;           ///< one per run
  std::map<std::string, int> skipped;    ///< by reason
  std::vector<FamilyAccuracy> families;  ///< by name
  std::vector<Split> qualities, splits;
  ErrorSummary total, buyer;
  int bracketed = 0, inside = 0;
  int usual_software = 0, usual_network = 0;  ///< of the predicted rows
};

/// Predicts and scores every run. Deterministic.
AccuracyReport evaluate(std::vector<MeasuredRun> runs, const Catalog& catalog);

}  // namespace scenarios
