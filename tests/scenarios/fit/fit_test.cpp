#include "scenarios/fit/fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/scenarios/fit/synthetic_runs.h"

namespace scenarios {
namespace {

constexpr double kLaunch = 100, kClock = 0.9;

void expect_truth(const Fit& fit) {
  EXPECT_TRUE(fit.settled);
  EXPECT_NEAR(std::exp(fit.theta[0]) / kLaunch, 1, 0.01);
  EXPECT_NEAR(std::exp(fit.theta[1]) / kClock, 1, 0.01);
}

TEST(Fit, FindsTheTruthFromAPerturbedStart) {
  const std::vector<MeasuredRun> runs = synthetic_runs(catalog_with(kLaunch, kClock));
  for (const auto& [launch, clock] : {std::pair{160.0, 0.7}, std::pair{40.0, 1.0}}) {
    const FitProblem problem(runs, catalog_with(launch, clock), two_parameters());
    const Fit found = fit(problem);
    expect_truth(found);
    EXPECT_LT(found.loss, 0.01 * found.start_loss);
    EXPECT_LT(found.residual.cwiseAbs().maxCoeff(), 0.01);
    EXPECT_EQ(found.residual, problem.residuals(found.theta));
  }
}

TEST(Fit, AWildRowDoesNotMoveIt) {
  for (const double factor : {0.1, 8.0}) {
    std::vector<MeasuredRun> runs = synthetic_runs(catalog_with(kLaunch, kClock));
    *runs[2].step_s *= factor;
    expect_truth(fit(FitProblem(runs, catalog_with(160, 0.8), two_parameters())));
  }
}

TEST(Fit, StaysWithinTheBounds) {
  std::vector<FittedParameter> parameters = two_parameters();
  parameters[0].low = 120;
  const std::vector<MeasuredRun> runs = synthetic_runs(catalog_with(kLaunch, kClock));
  const Fit found = fit(FitProblem(runs, catalog_with(200, 0.8), parameters));
  EXPECT_NEAR(std::exp(found.theta[0]), 120, 1e-6);
}

TEST(Fit, ReportsEveryRound) {
  const FitProblem problem(synthetic_runs(catalog_with(kLaunch, kClock)), catalog_with(kLaunch, kClock),
                           two_parameters());
  int lines = 0;
  const Fit found = fit(problem, [&](const std::string&) { ++lines; });
  EXPECT_EQ(lines, found.rounds + 1);
}

}  // namespace
}  // namespace scenarios
