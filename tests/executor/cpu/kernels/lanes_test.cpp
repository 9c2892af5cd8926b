#include "executor/cpu/kernels/lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace executor::cpu::baseline {
namespace {

TEST(Lanes, ExponentialWithinTwoRoundings) {
  for (double x = -87.3; x < 88.3; x += 0.0007) {
    const auto narrow = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(narrow));
    ASSERT_NEAR(exponential(fill(narrow))[3] / exact, 1, 2e-7) << x;
  }
}

TEST(Lanes, ExponentialAtTheEnds) {
  EXPECT_EQ(exponential(fill(0))[0], 1);
  EXPECT_LT(exponential(fill(-1e30f))[0], 2e-38f);
  EXPECT_GT(exponential(fill(-1e30f))[0], 0);
  EXPECT_GT(exponential(fill(1e30f))[0], 2e38f);
  EXPECT_TRUE(std::isfinite(exponential(fill(1e30f))[0]));
  EXPECT_TRUE(std::isnan(exponential(fill(std::numeric_limits<float>::quiet_NaN()))[0]));
}

TEST(Lanes, PartsCoverEveryElementOnce) {
  for (std::int64_t n = 0; n < 40; ++n) {
    std::int64_t next = 0;
    for_parts(n, [&](auto part, std::int64_t i) {
      EXPECT_EQ(i, next);
      if constexpr (requires { part.count; }) {
        EXPECT_LT(part.count, kLanes);
        next += part.count;
      } else {
        next += kLanes;
      }
    });
    EXPECT_EQ(next, n);
  }
}

}  // namespace
}  // namespace executor::cpu::baseline
