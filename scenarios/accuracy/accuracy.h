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
  std::optional<double> other_overlap_s;   ///< overlap unstated: the step if the stack's choice were turned round
  bool usual_software = false, usual_network = false;
  bool buyer = false;  ///< in the buyer subset

  /// A known stack decides what its run does not say about overlap; of an unknown one nothing is known.
  bool overlap_unknown() const { return other_overlap_s && usual_software; }
  bool scored() const { return skipped.empty() && !full_recompute_s && !overlap_unknown(); }
};

/// Rows in none of the errors, because the run does not say what they need.
struct Bracket {
  int rows = 0, inside = 0;  ///< inside: measured between the ends
};

/// Scored rows whose overlap is the stack's.
struct StackOverlap {
  int rows = 0, inside = 0;                ///< inside: measured between overlapped and exposed
  double median_width = 0, p90_width = 0;  ///< of |ln(exposed / overlapped)|
};

/// What rests on words that the runs do not say.
struct Unstated {
  Bracket recompute;   ///< predicted from none to full
  Bracket overlap;     ///< recompute known, stack unknown: predicted overlapped and exposed
  StackOverlap stack;  ///< recompute and stack known, overlap unstated
};

struct Split {
  std::string name;  ///< "GPUs 64-511", "micro-batch 1", "tensor > 8", "pipeline > 1"
  ErrorSummary errors;
};

struct FamilyAccuracy {
  std::string family;
  ErrorSummary errors;
  Unstated unstated;
};

struct AccuracyReport {
  std::vector<MeasuredRun> runs;
  std::vector<RowResult> rows;           ///< one per run
  std::map<std::string, int> skipped;    ///< by reason
  std::vector<FamilyAccuracy> families;  ///< by name
  std::vector<Split> qualities, splits;
  ErrorSummary total, buyer;
  Unstated unstated;
  int usual_software = 0, usual_network = 0;  ///< of the predicted rows
};

/// Predicts and scores every run. Deterministic.
AccuracyReport evaluate(std::vector<MeasuredRun> runs, const Catalog& catalog);

}  // namespace scenarios
