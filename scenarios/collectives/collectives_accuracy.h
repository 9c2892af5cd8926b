// Predicted collectives against measured ones, by system and size.
//
//   error  = ln(predicted / measured)
//   totals = every system weighs 1 in them, however many rows it has; weighted median and 90 % quantile of |error|
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/accuracy/errors.h"
#include "scenarios/catalog.h"
#include "scenarios/collectives/sweep.h"

namespace scenarios {

struct CollectiveResult {
  std::size_t row = 0;  ///< in the sweep
  std::string skipped;  ///< reason; empty = predicted
  double predicted_us = 0, error = 0;
};

struct SizeDecade {
  double from_bytes = 0;  ///< a power of ten
  ErrorSummary errors;
};

struct SystemAccuracy {
  std::string system;
  int nodes = 1;  ///< the most of its rows
  bool usual_network = false;
  ErrorSummary errors, from_16mib;
  std::vector<SizeDecade> decades;
};

/// Totals over one set of rows.
struct CollectiveTotals {
  std::string name;  ///< "all", "one node", "several nodes"
  ErrorSummary all, below_1mib, from_1mib;
};

struct CollectivesAccuracy {
  std::vector<MeasuredCollective> rows;
  std::vector<CollectiveResult> results;
  std::map<std::string, int> skipped;   ///< by reason
  std::vector<SystemAccuracy> systems;  ///< by name
  std::vector<CollectiveTotals> totals;
};

CollectivesAccuracy evaluate_collectives(std::vector<MeasuredCollective> rows, const Catalog& catalog);

std::string collectives_accuracy_text(const CollectivesAccuracy& accuracy);
std::string collectives_accuracy_json(const CollectivesAccuracy& accuracy);

}  // namespace scenarios
