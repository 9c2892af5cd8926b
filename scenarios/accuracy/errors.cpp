#include "scenarios/accuracy/errors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace scenarios {
namespace {

using Weighted = std::vector<std::pair<double, double>>;

std::optional<double> shape_error(const std::vector<RowError>& rows) {
  std::map<std::string, std::pair<double, int>> groups;  // sum of errors, rows
  for (const RowError& row : rows) {
    auto& [sum, count] = groups[row.group];
    sum += row.error;
    ++count;
  }
  Weighted deviations;
  for (const RowError& row : rows) {
    const auto& [sum, count] = groups[row.group];
    if (count >= 2) deviations.emplace_back(std::abs(row.error - sum / count), row.weight);
  }
  if (deviations.empty()) return std::nullopt;
  return weighted_quantile(std::move(deviations), 0.5);
}

std::optional<double> skill(const std::vector<RowError>& rows, double median) {
  Weighted baseline;
  for (const RowError& row : rows) {
    if (row.baseline) baseline.emplace_back(std::abs(*row.baseline), row.weight);
  }
  if (baseline.size() != rows.size() || rows.empty()) return std::nullopt;
  const double reference = weighted_quantile(std::move(baseline), 0.5);
  if (reference <= 0) return std::nullopt;
  return 1 - median / reference;
}

}  // namespace

double weighted_quantile(std::vector<std::pair<double, double>> values_and_weights, double quantile) {
  if (values_and_weights.empty()) return 0;
  std::ranges::sort(values_and_weights);
  double total = 0;
  for (const auto& [value, weight] : values_and_weights) total += weight;
  double reached = 0;
  for (const auto& [value, weight] : values_and_weights) {
    reached += weight;
    if (reached >= quantile * total * (1 - 1e-12)) return value;
  }
  return values_and_weights.back().first;
}

ErrorSummary summarise(const std::vector<RowError>& rows) {
  ErrorSummary summary;
  summary.rows = static_cast<int>(rows.size());
  if (rows.empty()) return summary;
  Weighted sizes;
  double sum = 0, weights = 0;
  for (const RowError& row : rows) {
    sizes.emplace_back(std::abs(row.error), row.weight);
    sum += row.error * row.weight;
    weights += row.weight;
  }
  summary.median = weighted_quantile(sizes, 0.5);
  summary.p90 = weighted_quantile(std::move(sizes), 0.9);
  summary.bias = sum / weights;
  summary.skill = skill(rows, summary.median);
  summary.shape = shape_error(rows);
  return summary;
}

}  // namespace scenarios
