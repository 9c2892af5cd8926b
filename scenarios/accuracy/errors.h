// Errors of predictions and their summaries.
//
//   error      = ln(predicted / measured)
//   median, p90: of |error|; quantile q of n sorted values is the one at index ceil(q n) - 1
//   bias       = mean error
//   skill      = 1 - median |error| / median |error of the baseline|,  the baseline knows one constant MFU per (family,
//   GPU) shape      = median |error - mean error of its group|, over groups of at least two rows
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace scenarios {

/// One scored row.
struct RowError {
  double error = 0;
  std::optional<double> baseline;  ///< error of the constant-MFU baseline
  std::string group;
  double weight = 1;  ///< > 0; medians, quantiles and means are weighted
};

struct ErrorSummary {
  int rows = 0;
  double median = 0, p90 = 0, bias = 0;
  std::optional<double> skill, shape;
};

/// Of the values with weights, smallest first: the first whose share of the weight reaches `quantile`. Empty: 0.
double weighted_quantile(std::vector<std::pair<double, double>> values_and_weights, double quantile);

ErrorSummary summarise(const std::vector<RowError>& rows);

}  // namespace scenarios
