// What repeated measurements say: medians, because another program may take the processor away at any time.
#pragma once

#include <vector>

namespace executor {

struct Spread {
  double median = 0;
  double low = 0, high = 0;  ///< of the median, 95 % confidence by order statistics: no distribution is assumed
  double variation = 0;      ///< 1.4826 x median absolute deviation / median: the coefficient of variation, robust
};

/// `samples`: not empty. Fewer than six bound the median by their extremes at less confidence.
Spread spread_of(std::vector<double> samples);

/// `values`: not empty; `share` 0 to 1. The lower of two neighbours.
double quantile(std::vector<double> values, double share);

}  // namespace executor
