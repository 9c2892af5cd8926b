// Measured runs as functions of the fitted parameters.
//
//   theta_k = ln of parameter k in its unit
//   r_i(theta) = ln(predicted step / measured step) of row i
//   w_i = 1 / sqrt(rows of the row's family): a family of 900 rows weighs five times as much as one of 36, not 25
//
// A parameter is a line of catalogue files and touches only the rows whose stack, GPU, node or fabric is one of these.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "scenarios/accuracy/measured_run.h"
#include "scenarios/catalog.h"
#include "scenarios/fit/fitted_parameters.h"

namespace scenarios {

class FitProblem {
 public:
  /// Keeps the runs that are scored (docs/accuracy.md). Throws InputError when none is left, or when the catalogue
  /// lacks a parameter.
  FitProblem(std::vector<MeasuredRun> runs, Catalog catalog, std::vector<FittedParameter> parameters);

  const std::vector<MeasuredRun>& runs() const { return runs_; }
  const std::vector<FittedParameter>& parameters() const { return parameters_; }
  const Eigen::VectorXd& weights() const { return weights_; }

  Eigen::VectorXd start() const;  ///< theta of the catalogue, within the bounds
  Eigen::VectorXd prior() const;
  Eigen::VectorXd kappa() const;  ///< weight of the prior (robust_fit.h)
  Eigen::VectorXd low() const;
  Eigen::VectorXd high() const;

  /// The catalogue with these values.
  Catalog catalog_at(const Eigen::VectorXd& theta) const;
  Eigen::VectorXd residuals(const Eigen::VectorXd& theta) const;
  Eigen::VectorXd residuals(const Eigen::VectorXd& theta, const std::vector<Eigen::Index>& rows) const;
  /// dr/dtheta by forward differences, given r(theta); the step goes inwards at the upper bound.
  Eigen::MatrixXd jacobian(const Eigen::VectorXd& theta, const Eigen::VectorXd& residual) const;
  /// The rows that parameter k touches.
  const std::vector<Eigen::Index>& touched(Eigen::Index k) const { return touched_[static_cast<std::size_t>(k)]; }

 private:
  std::vector<MeasuredRun> runs_;
  Catalog catalog_;
  std::vector<FittedParameter> parameters_;
  Eigen::VectorXd weights_;
  std::vector<std::vector<Eigen::Index>> touched_;
};

}  // namespace scenarios
