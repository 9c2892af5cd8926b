#include "scenarios/fit/fit_problem.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/load/diagnostics.h"
#include "tests/scenarios/accuracy/example_runs.h"
#include "tests/scenarios/fit/synthetic_runs.h"

namespace scenarios {
namespace {

using Eigen::Index, Eigen::VectorXd;

TEST(FitProblem, ResidualsAreZeroAtTheTruth) {
  const Catalog truth = catalog_with(100, 0.9);
  const FitProblem problem(synthetic_runs(truth), truth, two_parameters());
  EXPECT_NEAR(problem.start()[0], std::log(100), 1e-12);
  EXPECT_NEAR(problem.start()[1], std::log(0.9), 1e-12);
  ASSERT_EQ(problem.runs().size(), 12u);
  EXPECT_EQ(problem.residuals(problem.start()).cwiseAbs().maxCoeff(), 0);
  VectorXd slower = problem.start();
  slower[1] -= 0.1;
  EXPECT_GT(problem.residuals(slower).maxCoeff(), 0.05);
}

TEST(FitProblem, OnlyScoredRunsStayAndFamiliesWeighByTheRootOfTheirRows) {
  std::vector<Cells> rows;
  for (const char* family : {"a", "b", "b", "b", "b"}) rows.push_back(example_cells({{"family", family}}));
  rows.push_back(example_cells({{"family", "a"}, {"experts", "8"}}));
  rows.push_back(example_cells({{"family", "a"}, {"recompute", ""}}));  // a bracket
  const FitProblem problem(runs_of(rows), Catalog(), two_parameters());
  VectorXd expected(5);
  expected << 1, 0.5, 0.5, 0.5, 0.5;
  EXPECT_EQ(problem.weights(), expected);
  EXPECT_THROW(FitProblem(runs_of({rows[5]}), Catalog(), two_parameters()), InputError);
}

TEST(FitProblem, AParameterTouchesTheRunsOfItsFiles) {
  const FitProblem problem(runs_of({example_cells(), example_cells({{"software", "nanotron"}}),
                                    example_cells({{"gpu", "h100-sxm-80gb"}, {"software", "nanotron"}}),
                                    example_cells({{"gpu", "h100-sxm-80gb"}})}),
                           Catalog(), two_parameters());
  EXPECT_EQ(problem.touched(0), (std::vector<Index>{0, 3}));
  EXPECT_EQ(problem.touched(1), (std::vector<Index>{0, 1}));
  const VectorXd theta = problem.start();
  const VectorXd residual = problem.residuals(theta);
  const Eigen::MatrixXd jacobian = problem.jacobian(theta, residual);
  EXPECT_EQ(jacobian(1, 0), 0);
  EXPECT_EQ(jacobian(3, 1), 0);
  EXPECT_LT(jacobian(0, 1), -0.2);  // a faster clock makes large steps shorter ...
  EXPECT_GE(jacobian(0, 1), -1);    // ... by no more than itself
}

TEST(FitProblem, TheJacobianIsTheSlopeAndTurnsInwardsAtTheUpperBound) {
  const Catalog truth = catalog_with(100, 1);
  const FitProblem problem(synthetic_runs(truth), truth, two_parameters());
  const VectorXd theta = problem.start();
  ASSERT_EQ(theta[1], problem.high()[1]);
  const Eigen::MatrixXd jacobian = problem.jacobian(theta, problem.residuals(theta));
  VectorXd moved = theta;
  moved[0] += 0.01;
  moved[1] -= 0.01;
  const VectorXd slope = problem.residuals(moved) / 0.01;
  EXPECT_LT((jacobian.col(0) - jacobian.col(1) - slope).cwiseAbs().maxCoeff(), 0.02);
  EXPECT_GT(jacobian.col(1).cwiseAbs().maxCoeff(), 0.5);
}

TEST(FitProblem, AMissingParameterIsRefused) {
  std::vector<FittedParameter> parameters = two_parameters();
  parameters[0].key = "prices.nothing";
  EXPECT_THROW(FitProblem(runs_of({example_cells()}), Catalog(), parameters), InputError);
}

}  // namespace
}  // namespace scenarios
