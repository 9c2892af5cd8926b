#include "scenarios/fit/robust_fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <vector>

namespace scenarios {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

VectorXd row_weights(const LinearProblem& problem, const VectorXd& s) {
  const VectorXd error = problem.residual + problem.jacobian * s;
  return (problem.weight.array() / error.array().abs().max(kHuberDelta)).matrix();
}

MatrixXd normal_matrix(const LinearProblem& problem, const VectorXd& weights) {
  MatrixXd matrix = problem.jacobian.transpose() * weights.asDiagonal() * problem.jacobian;
  matrix.diagonal() += problem.kappa;
  return matrix;
}

/// Least s^T A s / 2 - b^T s in the box: coordinates that leave it are fixed at its face, the others solved anew.
VectorXd solve_in_box(const MatrixXd& a, const VectorXd& b, const VectorXd& low, const VectorXd& high) {
  VectorXd s = VectorXd::Zero(b.size());
  std::vector<Index> free(static_cast<std::size_t>(b.size()));
  for (std::size_t i = 0; i < free.size(); ++i) free[i] = static_cast<Index>(i);
  while (!free.empty()) {
    VectorXd fixed = s;
    for (const Index k : free) fixed[k] = 0;
    const VectorXd rest = b - a * fixed;
    const VectorXd part = a(free, free).llt().solve(VectorXd(rest(free)));
    std::vector<Index> inside;
    for (std::size_t i = 0; i < free.size(); ++i) {
      const Index k = free[i];
      s[k] = std::clamp(part[static_cast<Index>(i)], low[k], high[k]);
      if (s[k] == part[static_cast<Index>(i)]) inside.push_back(k);
    }
    if (inside.size() == free.size()) break;
    free = inside;
  }
  return s;
}

}  // namespace

double loss(const VectorXd& residual, const VectorXd& weight, const VectorXd& offset, const VectorXd& kappa) {
  double sum = offset.cwiseAbs2().dot(kappa) / 2;
  for (Index i = 0; i < residual.size(); ++i) {
    const double size = std::abs(residual[i]);
    sum += weight[i] * (size <= kHuberDelta ? size * size / (2 * kHuberDelta) : size - kHuberDelta / 2);
  }
  return sum;
}

VectorXd minimise(const LinearProblem& problem) {
  constexpr int kRounds = 200;
  constexpr double kSettled = 1e-7;
  VectorXd s = VectorXd::Zero(problem.offset.size());
  for (int round = 0; round < kRounds; ++round) {
    const VectorXd weights = row_weights(problem, s);
    const VectorXd downhill = -(problem.jacobian.transpose() * weights.cwiseProduct(problem.residual)) -
                              problem.kappa.cwiseProduct(problem.offset);
    const VectorXd next = solve_in_box(normal_matrix(problem, weights), downhill, problem.low, problem.high);
    const double change = (next - s).cwiseAbs().maxCoeff();
    s = next;
    if (change < kSettled) break;
  }
  return s;
}

MatrixXd curvature(const LinearProblem& problem, const VectorXd& s) {
  return normal_matrix(problem, row_weights(problem, s));
}

}  // namespace scenarios
