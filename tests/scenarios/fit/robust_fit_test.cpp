#include "scenarios/fit/robust_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace scenarios {
namespace {

using Eigen::MatrixXd, Eigen::VectorXd;

/// One parameter that moves every row alike; the prior where we start.
LinearProblem constants(const VectorXd& residual) {
  return {.residual = residual,
          .weight = VectorXd::Ones(residual.size()),
          .jacobian = MatrixXd::Ones(residual.size(), 1),
          .offset = VectorXd::Zero(1),
          .kappa = VectorXd::Constant(1, kGuessWeight),
          .low = VectorXd::Constant(1, -10),
          .high = VectorXd::Constant(1, 10)};
}

TEST(RobustFit, LossIsSquareThenLinear) {
  const VectorXd one = VectorXd::Ones(1), none = VectorXd::Zero(1);
  EXPECT_DOUBLE_EQ(loss(one * 0.03, one, none, none), 0.03 * 0.03 / (2 * kHuberDelta));
  EXPECT_DOUBLE_EQ(loss(one * -0.8, one * 3, none, none), 3 * (0.8 - kHuberDelta / 2));
  EXPECT_DOUBLE_EQ(loss(one * 0, one, one * 2, one * 7), 7.0 / 2 * 4);
  EXPECT_NEAR(loss(one * (kHuberDelta * (1 + 1e-9)), one, none, none), kHuberDelta / 2, 1e-9);
}

/// Far apart residuals, odd in number: the middle one becomes zero but for the pull of the prior, as a median.
TEST(RobustFit, OneConstantIsTheMedian) {
  VectorXd residual(5);
  residual << 0.4, -3, 5, 0.9, -0.2;
  EXPECT_NEAR(minimise(constants(residual))[0], -0.4, kHuberDelta * kGuessWeight);
}

/// Within delta of each other: least squares with a ridge, s = -sum r / (n + kappa delta).
TEST(RobustFit, SmallErrorsAreLeastSquares) {
  VectorXd residual(4);
  residual << 0.30, 0.31, 0.33, 0.28;
  EXPECT_NEAR(minimise(constants(residual))[0], -residual.sum() / (4 + kGuessWeight * kHuberDelta), 1e-7);
}

TEST(RobustFit, WeightsCount) {
  VectorXd residual(3);
  residual << 1, 2, 3;
  LinearProblem problem = constants(residual);
  problem.weight << 1, 1, 5;
  EXPECT_NEAR(minimise(problem)[0], -3, kHuberDelta / 2);  // five against two: 2 delta / 5 short of it
  problem.weight << 5, 1, 0;
  EXPECT_NEAR(minimise(problem)[0], -1, kHuberDelta / 2);
}

/// One row that is 1 off, all of it beyond delta, against a measurement: s = -w / kappa.
TEST(RobustFit, AMeasurementHoldsAgainstFewRows) {
  LinearProblem problem = constants(VectorXd::Ones(1));
  problem.kappa << kMeasuredWeight;
  EXPECT_NEAR(minimise(problem)[0], -1 / kMeasuredWeight, 1e-6);
}

TEST(RobustFit, WithoutRowsThePriorWins) {
  LinearProblem problem = constants(VectorXd::Ones(3));
  problem.weight.setZero();
  problem.offset << 1.5;
  EXPECT_NEAR(minimise(problem)[0], -1.5, 1e-9);
}

/// Two parameters, r = (s1 - 1, s1 + s2 - 3): the free optimum is (1, 2). With s1 at most 0.5 the other makes up for
/// it in the second row: s2 = 2.5.
TEST(RobustFit, TheBoxHoldsAndTheOthersAdapt) {
  LinearProblem problem{.residual = VectorXd(2),
                        .weight = VectorXd::Ones(2),
                        .jacobian = MatrixXd(2, 2),
                        .offset = VectorXd::Zero(2),
                        .kappa = VectorXd::Constant(2, kGuessWeight),
                        .low = VectorXd::Constant(2, -10),
                        .high = VectorXd::Constant(2, 10)};
  problem.residual << -1, -3;
  problem.jacobian << 1, 0, 1, 1;
  VectorXd s = minimise(problem);
  EXPECT_NEAR(s[0], 1, 0.002);
  EXPECT_NEAR(s[1], 2, 0.002);
  problem.high[0] = 0.5;
  s = minimise(problem);
  EXPECT_EQ(s[0], 0.5);
  EXPECT_NEAR(s[1], 2.5, 0.002);
}

TEST(RobustFit, CurvatureByHand) {
  VectorXd residual(2);
  residual << 0.01, 2;
  LinearProblem problem = constants(residual);
  problem.weight << 1, 3;
  EXPECT_NEAR(curvature(problem, VectorXd::Zero(1))(0, 0), 1 / kHuberDelta + 3.0 / 2 + kGuessWeight, 1e-12);
}

}  // namespace
}  // namespace scenarios
