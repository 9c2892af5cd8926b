#include "scenarios/fit/cross_validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/scenarios/fit/synthetic_runs.h"

namespace scenarios {
namespace {

constexpr double kLaunch = 100, kClock = 0.9;

TEST(CrossValidation, RunsThatAgreePredictEachOther) {
  const FitProblem problem(synthetic_runs(catalog_with(kLaunch, kClock)), catalog_with(150, 0.8), two_parameters());
  const CrossValidation result = leave_groups_out(problem, fit(problem));
  ASSERT_EQ(result.groups.size(), 4u);
  EXPECT_EQ(result.groups.front().group, "large12");
  EXPECT_EQ(result.groups.front().rows.size(), 3u);
  EXPECT_LT(result.residual.cwiseAbs().maxCoeff(), 0.01);
  EXPECT_LT(result.standard_error.maxCoeff(), 0.02);
}

/// One group's steps are longer by a fifth: left out, it is predicted as if it were like the others, and a true fit
/// without it says the same.
TEST(CrossValidation, AnOddGroupIsPredictedFromTheOthers) {
  std::vector<MeasuredRun> runs = synthetic_runs(catalog_with(kLaunch, kClock));
  for (MeasuredRun& run : runs) {
    if (run.group == "large12") *run.step_s *= 1.2;
  }
  const FitProblem problem(runs, catalog_with(kLaunch, kClock), two_parameters());
  const Fit all = fit(problem);
  const CrossValidation result = leave_groups_out(problem, all);
  std::vector<MeasuredRun> others;
  std::ranges::copy_if(runs, std::back_inserter(others), [](const MeasuredRun& run) { return run.group != "large12"; });
  const Fit without = fit(FitProblem(others, catalog_with(kLaunch, kClock), two_parameters()));
  const Eigen::VectorXd truth = problem.residuals(without.theta, result.groups.front().rows);
  for (std::size_t i = 0; i < result.groups.front().rows.size(); ++i) {
    const Eigen::Index row = result.groups.front().rows[i];
    EXPECT_NEAR(result.residual[row], -std::log(1.2), 0.02);
    EXPECT_NEAR(result.residual[row], truth[static_cast<Eigen::Index>(i)], 0.02);
    EXPECT_NEAR(result.residual[row], result.linear[row], 0.02);
  }
  EXPECT_GT(result.standard_error[1], result.standard_error[0]);
}

/// Only the small groups tell the launch price: without them it returns to the prior.
TEST(CrossValidation, WhatOnlyTheGroupTellsReturnsToThePrior) {
  std::vector<MeasuredRun> runs = synthetic_runs(catalog_with(kLaunch, kClock));
  for (MeasuredRun& run : runs) {
    if (run.family == "small") run.group = "small";
  }
  const FitProblem problem(runs, catalog_with(kLaunch, kClock), two_parameters());
  const Fit all = fit(problem);
  const CrossValidation result = leave_groups_out(problem, all);
  ASSERT_EQ(result.groups.back().group, "small");
  const double prior = two_parameters()[0].prior;
  EXPECT_LT(std::exp(all.theta[0] + result.groups.back().shift[0]), (kLaunch + prior) / 2);
  EXPECT_LT(result.residual(result.groups.back().rows).maxCoeff(), -0.2);
}

}  // namespace
}  // namespace scenarios
