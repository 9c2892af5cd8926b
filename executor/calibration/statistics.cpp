#include "executor/calibration/statistics.h"

#include <algorithm>
#include <cmath>

namespace executor {
namespace {

double median_of_sorted(const std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// How many samples lie outside either end of the interval: the largest j with P(Binomial(n, 1/2) < j) <= 2.5 %.
std::size_t outside(std::size_t n) {
  double probability = std::pow(0.5, static_cast<double>(n)), sum = probability;
  std::size_t j = 0;
  while (sum <= 0.025) {
    probability *= static_cast<double>(n - j) / static_cast<double>(j + 1);
    ++j;
    sum += probability;
  }
  return j;
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  Spread spread;
  spread.median = median_of_sorted(samples);
  const std::size_t j = std::max<std::size_t>(outside(samples.size()), 1);
  spread.low = samples[j - 1];
  spread.high = samples[samples.size() - j];
  for (double& sample : samples) sample = std::abs(sample - spread.median);
  std::ranges::sort(samples);
  // 1 / the 75 % quantile of the normal distribution: the deviation of normal samples.
  if (spread.median > 0) spread.variation = 1.4826 * median_of_sorted(samples) / spread.median;
  return spread;
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace executor
