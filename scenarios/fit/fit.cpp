#include "scenarios/fit/fit.h"

#include <fmt/format.h>

#include <utility>

namespace scenarios {
namespace {

using Eigen::VectorXd;

constexpr int kMostRounds = 8;
constexpr int kHalvings = 4;
constexpr double kReach = 0.6931471805599453;  // ln 2: a factor two per round
constexpr double kWorthIt = 1e-4;              // of F: a step that promises less is not tried

double loss_at(const FitProblem& problem, const VectorXd& theta, const VectorXd& residual) {
  return loss(residual, problem.weights(), theta - problem.prior(), problem.kappa());
}

/// Moves along `step` as far as F falls; false when it falls nowhere.
bool descend(const FitProblem& problem, const VectorXd& step, Fit& fit) {
  double length = 1;
  for (int i = 0; i <= kHalvings; ++i, length /= 2) {
    VectorXd theta = fit.theta + length * step;
    VectorXd residual = problem.residuals(theta);
    const double value = loss_at(problem, theta, residual);
    if (value >= fit.loss) continue;
    fit.theta = std::move(theta);
    fit.residual = std::move(residual);
    fit.loss = value;
    return true;
  }
  return false;
}

}  // namespace

LinearProblem linearised(const FitProblem& problem, const VectorXd& theta, const VectorXd& residual,
                         const Eigen::MatrixXd& jacobian, double reach) {
  return {.residual = residual,
          .weight = problem.weights(),
          .jacobian = jacobian,
          .offset = theta - problem.prior(),
          .kappa = problem.kappa(),
          .low = (problem.low() - theta).cwiseMax(-reach),
          .high = (problem.high() - theta).cwiseMin(reach)};
}

Fit fit(const FitProblem& problem, const std::function<void(const std::string&)>& progress) {
  Fit fit;
  fit.theta = fit.start = problem.start();
  fit.residual = fit.start_residual = problem.residuals(fit.theta);
  fit.loss = fit.start_loss = loss_at(problem, fit.theta, fit.residual);
  while (true) {
    if (progress) progress(fmt::format("round {}: loss {:.5f}\n", fit.rounds, fit.loss));
    fit.jacobian = problem.jacobian(fit.theta, fit.residual);
    if (fit.rounds == kMostRounds) return fit;
    const VectorXd step = minimise(linearised(problem, fit.theta, fit.residual, fit.jacobian, kReach));
    const double before = fit.loss;
    const VectorXd promised = fit.residual + fit.jacobian * step;
    const bool worth = before - loss_at(problem, fit.theta + step, promised) > kWorthIt * before;
    if (!worth || !descend(problem, step, fit)) {
      fit.settled = true;
      return fit;
    }
    ++fit.rounds;
  }
}

}  // namespace scenarios
