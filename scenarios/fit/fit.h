// The parameters of least robust error: damped Gauss-Newton.
//
//   minimise F(theta) = sum_i w_i rho(r_i(theta)) + kappa / 2 |theta - prior|^2  within the bounds    (robust_fit.h)
//   each round:  J by differences; s = argmin of the linearised F with |s_k| <= ln 2; theta += t s, t = 1, 1/2, 1/4 ...
//   until F falls; stop when it no longer does
#pragma once

#include <Eigen/Core>
#include <functional>
#include <string>

#include "scenarios/fit/fit_problem.h"
#include "scenarios/fit/robust_fit.h"

namespace scenarios {

struct Fit {
  Eigen::VectorXd start, theta;              ///< logarithms
  Eigen::VectorXd start_residual, residual;  ///< of all rows
  Eigen::MatrixXd jacobian;                  ///< at theta
  double start_loss = 0, loss = 0;
  int rounds = 0;
  bool settled = false;  ///< false: the rounds ran out
};

/// `progress` gets a line per round.
Fit fit(const FitProblem& problem, const std::function<void(const std::string&)>& progress = {});

/// F linearised at theta, within the bounds and at most `reach` away.
LinearProblem linearised(const FitProblem& problem, const Eigen::VectorXd& theta, const Eigen::VectorXd& residual,
                         const Eigen::MatrixXd& jacobian, double reach);

}  // namespace scenarios
