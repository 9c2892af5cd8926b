#include "scenarios/fit/cross_validation.h"

#include <cmath>
#include <limits>
#include <map>

namespace scenarios {
namespace {

using Eigen::Index, Eigen::VectorXd;

constexpr double kNegligible = 1e-4;  // of a logarithm: such a shift is not worth a simulation

std::map<std::string, std::vector<Index>> groups_of(const std::vector<MeasuredRun>& runs) {
  std::map<std::string, std::vector<Index>> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) groups[runs[i].group].push_back(static_cast<Index>(i));
  return groups;
}

}  // namespace

CrossValidation leave_groups_out(const FitProblem& problem, const Fit& fit) {
  constexpr double kAnywhere = std::numeric_limits<double>::infinity();
  LinearProblem linear = linearised(problem, fit.theta, fit.residual, fit.jacobian, kAnywhere);
  const VectorXd rest = minimise(linear);  // what is left to go with all rows
  CrossValidation result{.groups = {},
                         .residual = fit.residual,
                         .linear = fit.residual,
                         .standard_error = VectorXd::Zero(fit.theta.size())};
  for (auto& [group, rows] : groups_of(problem.runs())) {
    for (const Index row : rows) linear.weight[row] = 0;
    const VectorXd shift = minimise(linear) - rest;
    for (const Index row : rows) {
      linear.weight[row] = problem.weights()[row];
      result.linear[row] += fit.jacobian.row(row).dot(shift);
    }
    if (shift.cwiseAbs().maxCoeff() > kNegligible) {
      const VectorXd theta = (fit.theta + shift).cwiseMax(problem.low()).cwiseMin(problem.high());
      result.residual(rows) = problem.residuals(theta, rows);
    }
    result.standard_error += shift.cwiseAbs2();
    result.groups.push_back({group, rows, shift});
  }
  const double groups = static_cast<double>(result.groups.size());
  result.standard_error = (result.standard_error * (groups - 1) / groups).cwiseSqrt();
  return result;
}

}  // namespace scenarios
