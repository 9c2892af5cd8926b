// Weighted Huber regression of a linearised model in a box.
//
//   F(s) = sum_i w_i rho(r_i + J_i s) + sum_k kappa_k / 2 (s_k + o_k)^2,   low <= s <= high
//   rho(e) = e^2 / (2 delta) for |e| <= delta,  |e| - delta / 2 beyond
//
// Errors below delta count by their square, larger ones by their size: a wild row pulls no harder than one slightly
// off. The second term draws what no row tells towards the prior (o = value - prior).
// Solved by iteratively reweighted least squares:  s = argmin sum_i w_i / max(|e_i|, delta) (r_i + J_i s)^2 / 2 + ...
#pragma once

#include <Eigen/Core>

namespace scenarios {

/// Errors of a few percent are the noise of a measured step (repeats of one run differ by 1 to 5 %).
inline constexpr double kHuberDelta = 0.03;
/// kappa of a guess: a factor e off the prior costs 0.005; a row of a family of 100 that is 10 % off costs 0.0085.
inline constexpr double kGuessWeight = 0.01;
/// kappa of a measurement of the part itself: 10 % off costs 0.125, what fifteen such rows cost.
inline constexpr double kMeasuredWeight = 25;

struct LinearProblem {
  Eigen::VectorXd residual, weight;  ///< r, w >= 0: one per row
  Eigen::MatrixXd jacobian;          ///< J: rows x parameters
  Eigen::VectorXd offset, kappa;     ///< o and its weight: one per parameter
  Eigen::VectorXd low, high;         ///< low <= high
};

/// F of residuals already computed.
double loss(const Eigen::VectorXd& residual, const Eigen::VectorXd& weight, const Eigen::VectorXd& offset,
            const Eigen::VectorXd& kappa);

/// The s of least F.
Eigen::VectorXd minimise(const LinearProblem& problem);

/// J^T diag(w_i / max(|e_i|, delta)) J + diag(kappa) at s.
Eigen::MatrixXd curvature(const LinearProblem& problem, const Eigen::VectorXd& s);

}  // namespace scenarios
