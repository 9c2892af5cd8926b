#include "hw_models/jitter.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hw_models {
namespace {

// Barrier of 64 ranks after work of 1, lateness exponential with rate 10: 1 + H_64 / 10.
TEST(Jitter, BarrierOfExponentialLateness) {
  EXPECT_NEAR(1 + expected_maximum(64) / 10, 1.474389, 5e-7);
  EXPECT_DOUBLE_EQ(expected_maximum(0), 0);
  EXPECT_DOUBLE_EQ(expected_maximum(1), 1);
  EXPECT_DOUBLE_EQ(expected_maximum(4), 25.0 / 12);
}

// E[max of n] = integral over t of P(some lateness > t) = integral of 1 - (1 - e^-t)^n, by the trapezoidal rule.
TEST(Jitter, IsTheMeanOfTheMaximum) {
  for (const int n : {1, 2, 8, 100}) {
    double integral = 0;
    const double step = 1e-3;
    for (int i = 0; i < 40'000; ++i) {
      const double weight = i == 0 ? 0.5 : 1;
      integral += weight * step * (1 - std::pow(1 - std::exp(-i * step), n));
    }
    EXPECT_NEAR(expected_maximum(n), integral, 1e-5) << n;
  }
}

TEST(Jitter, SlowestOfMany) {
  EXPECT_DOUBLE_EQ(slowest_over_average(0.01, 1), 1);
  EXPECT_DOUBLE_EQ(slowest_over_average(0, 1000), 1);
  EXPECT_DOUBLE_EQ(slowest_over_average(0.5, 2), 1.25);  // H_2 - 1 = 1/2
  for (int n = 1; n < 100'000; n *= 3) EXPECT_LT(slowest_over_average(0.01, n), slowest_over_average(0.01, 3 * n));
}

}  // namespace
}  // namespace hw_models
