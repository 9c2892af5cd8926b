// How well a fit predicts groups of runs that it has not seen.
//
// For each `group` g of the table: s_g = argmin of the linearised F without the rows of g (their weights set to zero),
// relative to the same with all rows; then the rows of g are predicted, by simulation, at theta + s_g. A parameter that
// only g tells returns to its prior. The shifts also give the parameters' uncertainty (jackknife over groups):
//
//   se_k^2 = (G - 1) / G sum_g s_gk^2,   G groups
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "scenarios/fit/fit.h"

namespace scenarios {

struct GroupLeftOut {
  std::string group;
  std::vector<Eigen::Index> rows;
  Eigen::VectorXd shift;  ///< s_g
};

struct CrossValidation {
  std::vector<GroupLeftOut> groups;  ///< by name
  Eigen::VectorXd residual;          ///< of every row, predicted without its group
  Eigen::VectorXd linear;            ///< the same by the linearised model alone, to judge the linearisation
  Eigen::VectorXd standard_error;    ///< of theta
};

CrossValidation leave_groups_out(const FitProblem& problem, const Fit& fit);

}  // namespace scenarios
