#include "strategies/plan_advice.h"

#include <gtest/gtest.h>

namespace strategies {
namespace {

TEST(PlanAdvice, ListsNumbers) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({4}), "4");
  EXPECT_EQ(listed({1, 2, 4}), "1, 2 or 4");
}

TEST(PlanAdvice, DivisorsAroundANumber) {
  EXPECT_EQ(divisors_near(64, 3), (std::vector<std::int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(divisors_near(64, 100), (std::vector<std::int64_t>{16, 32, 64}));
  EXPECT_EQ(divisors_near(7, 2), (std::vector<std::int64_t>{1, 7}));
}

}  // namespace
}  // namespace strategies
