#include "executor/calibration/statistics.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace executor {
namespace {

TEST(Statistics, OneOutlierChangesLittle) {
  const Spread spread = spread_of({10, 12, 11, 10, 900});
  EXPECT_DOUBLE_EQ(spread.median, 11);
  EXPECT_DOUBLE_EQ(spread.low, 10);
  EXPECT_DOUBLE_EQ(spread.high, 900);
  EXPECT_DOUBLE_EQ(spread.variation, 1.4826 * 1 / 11);  // deviations 0 1 1 1 889
}

TEST(Statistics, EvenCountsTakeTheMiddle) {
  EXPECT_DOUBLE_EQ(spread_of({4, 1, 3, 2}).median, 2.5);
  EXPECT_DOUBLE_EQ(spread_of({7}).median, 7);
  EXPECT_DOUBLE_EQ(spread_of({7}).variation, 0);
}

// Tables of the sign test: 95 % intervals of the median are the j-th smallest to the j-th largest.
TEST(Statistics, ConfidenceIsThatOfTheSignTest) {
  const struct {
    std::size_t samples;
    double low;
  } cases[] = {{6, 1}, {9, 2}, {12, 3}, {20, 6}, {30, 10}};
  for (const auto& c : cases) {
    std::vector<double> samples(c.samples);
    std::iota(samples.begin(), samples.end(), 1);
    const Spread spread = spread_of(samples);
    EXPECT_DOUBLE_EQ(spread.low, c.low) << c.samples;
    EXPECT_DOUBLE_EQ(spread.high, static_cast<double>(c.samples) + 1 - c.low) << c.samples;
  }
}

TEST(Statistics, QuantilesAreSamples) {
  const std::vector<double> values{5, 1, 3};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 3);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 5);
}

}  // namespace
}  // namespace executor
