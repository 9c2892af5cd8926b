#include "scenarios/accuracy/errors.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace scenarios {
namespace {

using Values = std::vector<std::pair<double, double>>;

struct QuantileCase {
  const char* what;
  Values values;
  double quantile, expected;
};

const QuantileCase kQuantiles[] = {
    {"nothing", {}, 0.5, 0},
    {"one", {{7, 1}}, 0.5, 7},
    {"the middle of three", {{3, 1}, {1, 1}, {2, 1}}, 0.5, 2},
    {"the lower middle of four", {{4, 1}, {3, 1}, {1, 1}, {2, 1}}, 0.5, 2},
    {"the ninth of ten", {{10, 1}, {9, 1}, {8, 1}, {7, 1}, {6, 1}, {5, 1}, {4, 1}, {3, 1}, {2, 1}, {1, 1}}, 0.9, 9},
    {"the tenth of eleven",
     {{11, 1}, {10, 1}, {9, 1}, {8, 1}, {7, 1}, {6, 1}, {5, 1}, {4, 1}, {3, 1}, {2, 1}, {1, 1}},
     0.9,
     10},
    {"all", {{1, 1}, {2, 1}}, 1, 2},
    {"weights 1, 1, 8: half is in the last", {{1, 1}, {2, 1}, {3, 8}}, 0.5, 3},
    {"weights 1, 1, 8: a fifth ends in the second", {{1, 1}, {2, 1}, {3, 8}}, 0.2, 2},
    {"the scale of the weights does not matter", {{1, 0.25}, {2, 0.25}, {3, 2}}, 0.2, 2},
    // 0.1 + ... nine times is less than 0.9 x (0.1 + ... ten times) in doubles, unless allowance is made.
    {"tenths add up",
     {{1, .1}, {2, .1}, {3, .1}, {4, .1}, {5, .1}, {6, .1}, {7, .1}, {8, .1}, {9, .1}, {10, .1}},
     0.9,
     9},
};

TEST(WeightedQuantile, IsTheFirstValueThatReachesItsShare) {
  for (const QuantileCase& each : kQuantiles) {
    EXPECT_EQ(weighted_quantile(each.values, each.quantile), each.expected) << each.what;
  }
}

RowError row(double error, const char* group, std::optional<double> baseline = std::nullopt, double weight = 1) {
  return {error, baseline, group, weight};
}

TEST(Summarise, NothingHasNoErrors) {
  const ErrorSummary none = summarise({});
  EXPECT_EQ(none.rows, 0);
  EXPECT_EQ(none.median, 0);
  EXPECT_EQ(none.skill, std::nullopt);
  EXPECT_EQ(none.shape, std::nullopt);
}

// |error| sorted: 0.1 0.2 0.3 0.4. Group x has mean -0.05 and deviations 0.15 and 0.15; y and z have one row each.
TEST(Summarise, HandSolved) {
  const ErrorSummary summary = summarise({row(0.1, "x"), row(-0.2, "x"), row(0.3, "y"), row(-0.4, "z")});
  EXPECT_EQ(summary.rows, 4);
  EXPECT_DOUBLE_EQ(summary.median, 0.2);
  EXPECT_DOUBLE_EQ(summary.p90, 0.4);
  EXPECT_NEAR(summary.bias, -0.05, 1e-15);
  ASSERT_TRUE(summary.shape);
  EXPECT_NEAR(*summary.shape, 0.15, 1e-15);
  EXPECT_EQ(summary.skill, std::nullopt);
}

// Deviations 0.1, 0.1 in x (mean 0.5) and 0.2, 0, 0.2 in y (mean -0.3): the third of 0, 0.1, 0.1, 0.2, 0.2.
TEST(Summarise, ShapeForgivesWhatAWholeGroupHasInCommon) {
  const std::vector<RowError> rows{row(0.4, "x"), row(0.6, "x"), row(-0.5, "y"), row(-0.3, "y"), row(-0.1, "y")};
  EXPECT_NEAR(summarise(rows).shape.value(), 0.1, 1e-15);
  std::vector<RowError> shifted = rows;
  for (RowError& each : shifted) each.error += each.group == "x" ? 3 : -5;
  EXPECT_NEAR(summarise(shifted).shape.value(), 0.1, 1e-12);
}

TEST(Summarise, SkillComparesMedians) {
  // Median 0.1 against the baseline's 0.4.
  EXPECT_DOUBLE_EQ(summarise({row(0.1, "", 0.4), row(-0.1, "", -0.4), row(0.1, "", 0.1)}).skill.value(), 0.75);
  // Worse than the baseline is below zero.
  EXPECT_DOUBLE_EQ(summarise({row(0.3, "", -0.1)}).skill.value(), -2);
  // A baseline without error, or not known for every row, has no skill to compare with.
  EXPECT_EQ(summarise({row(0.3, "", 0.0)}).skill, std::nullopt);
  EXPECT_EQ(summarise({row(0.3, "", 0.1), row(0.3, "")}).skill, std::nullopt);
}

// Three rows of one model weigh as much as one row of another.
TEST(Summarise, Weights) {
  const double third = 1.0 / 3;
  const std::vector<RowError> rows{row(0.1, "x", 0.2, third), row(0.2, "x", 0.2, third), row(0.3, "x", 0.2, third),
                                   row(-0.8, "y", 0.4, 1)};
  const ErrorSummary summary = summarise(rows);
  EXPECT_EQ(summary.rows, 4);
  EXPECT_DOUBLE_EQ(summary.median, 0.3);
  EXPECT_DOUBLE_EQ(summary.p90, 0.8);
  EXPECT_NEAR(summary.bias, (0.2 - 0.8) / 2, 1e-15);
  EXPECT_DOUBLE_EQ(summary.skill.value(), 1 - 0.3 / 0.2);
}

}  // namespace
}  // namespace scenarios
