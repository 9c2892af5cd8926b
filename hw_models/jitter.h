// Who waits for the slowest of several. The lateness of one is exponential with mean m (independent of the others);
// the expected maximum of n such is the closed form of a barrier:
//
//   E[max of n] = m H_n,   H_n = 1 + 1/2 + ... + 1/n
//
// Two persistent or recurring latenesses are modelled. The clock of a chip differs from its neighbour's for good: the
// slowest of the n GPUs of a job sets the pace of matrix products, spread (H_n - 1) slower than the average GPU that
// the efficiencies describe. A node's network joins a collective late by `jitter` on average: each collective over d
// nodes takes jitter H_d longer. Noise of single kernels is not modelled: it averages out between synchronisations.
#pragma once

#include <algorithm>

namespace hw_models {

/// E[max of n] of exponential latenesses of mean 1; 0 for n < 1.
inline double expected_maximum(int n) {
  double sum = 0;
  for (int i = n; i >= 1; --i) sum += 1.0 / i;  // smallest terms first
  return sum;
}

/// Time of the slowest of n GPUs over that of the average one, for work at the pace of its clock. >= 1.
inline double slowest_over_average(double spread, int n) { return 1 + spread * std::max(0.0, expected_maximum(n) - 1); }

}  // namespace hw_models
