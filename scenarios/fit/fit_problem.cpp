#include "scenarios/fit/fit_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "scenarios/accuracy/accuracy.h"
#include "scenarios/accuracy/run_scenario.h"
#include "scenarios/fit/robust_fit.h"
#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

/// Wide enough to step over the rounding of times to nanoseconds, narrow enough to stay on one side of most kinks.
constexpr double kDifference = 0.02;

std::vector<MeasuredRun> scored(std::vector<MeasuredRun> runs, const Catalog& catalog) {
  const AccuracyReport report = evaluate(std::move(runs), catalog);
  std::vector<MeasuredRun> kept;
  for (const RowResult& row : report.rows) {
    if (row.scored()) kept.push_back(report.runs[row.run]);
  }
  if (kept.empty()) throw InputError("error: none of the runs is scored\n  see trainyard accuracy for the reasons\n");
  return kept;
}

VectorXd family_weights(const std::vector<MeasuredRun>& runs) {
  std::map<std::string, int> rows;
  for (const MeasuredRun& run : runs) ++rows[run.family];
  VectorXd weights(static_cast<Index>(runs.size()));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    weights[static_cast<Index>(i)] = 1 / std::sqrt(static_cast<double>(rows[runs[i].family]));
  }
  return weights;
}

/// "gpus/h100-sxm-80gb": the catalogue files that the run's scenario is made of.
std::set<std::string> files_of(const MeasuredRun& run, const Catalog& catalog) {
  const Scenario scenario = std::get<RunScenario>(scenario_of(run, catalog)).scenario;
  return {"software/" + scenario.software.prices.name, "gpus/" + scenario.gpu.name,
          "nodes/" + scenario.cluster.node.name, "fabrics/" + scenario.cluster.fabric.name};
}

VectorXd logs(const std::vector<FittedParameter>& parameters, double FittedParameter::*field) {
  VectorXd result(static_cast<Index>(parameters.size()));
  for (std::size_t k = 0; k < parameters.size(); ++k) result[static_cast<Index>(k)] = std::log(parameters[k].*field);
  return result;
}

}  // namespace

FitProblem::FitProblem(std::vector<MeasuredRun> runs, Catalog catalog, std::vector<FittedParameter> parameters)
    : runs_(scored(std::move(runs), catalog)),
      catalog_(std::move(catalog)),
      parameters_(std::move(parameters)),
      weights_(family_weights(runs_)),
      touched_(parameters_.size()) {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::set<std::string> files = files_of(runs_[i], catalog_);
    for (std::size_t k = 0; k < parameters_.size(); ++k) {
      const FittedParameter& parameter = parameters_[k];
      const bool touches = std::ranges::any_of(parameter.files, [&](const std::string& file) {
        return files.contains(fmt::format("{}/{}", parameter.kind, file));
      });
      if (touches) touched_[k].push_back(static_cast<Index>(i));
    }
  }
  start();  // throws for a parameter that is not there
}

VectorXd FitProblem::start() const {
  VectorXd theta(static_cast<Index>(parameters_.size()));
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const FittedParameter& parameter = parameters_[k];
    theta[static_cast<Index>(k)] = std::log(std::clamp(value_in(catalog_, parameter), parameter.low, parameter.high));
  }
  return theta;
}

VectorXd FitProblem::kappa() const {
  VectorXd weights(static_cast<Index>(parameters_.size()));
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    weights[static_cast<Index>(k)] = parameters_[k].measured ? kMeasuredWeight : kGuessWeight;
  }
  return weights;
}
VectorXd FitProblem::prior() const { return logs(parameters_, &FittedParameter::prior); }
VectorXd FitProblem::low() const { return logs(parameters_, &FittedParameter::low); }
VectorXd FitProblem::high() const { return logs(parameters_, &FittedParameter::high); }

Catalog FitProblem::catalog_at(const VectorXd& theta) const {
  Catalog catalog = catalog_;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const FittedParameter& parameter = parameters_[k];
    const double value = std::exp(theta[static_cast<Index>(k)]);
    set_value(catalog, parameter, std::clamp(value, parameter.low, parameter.high));  // exp(log(x)) may miss x
  }
  return catalog;
}

VectorXd FitProblem::residuals(const VectorXd& theta) const {
  std::vector<Index> rows(runs_.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<Index>(i);
  return residuals(theta, rows);
}

VectorXd FitProblem::residuals(const VectorXd& theta, const std::vector<Index>& rows) const {
  std::vector<MeasuredRun> runs;
  for (const Index row : rows) runs.push_back(runs_[static_cast<std::size_t>(row)]);
  const AccuracyReport report = evaluate(std::move(runs), catalog_at(theta));
  VectorXd errors(static_cast<Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!report.rows[i].scored()) {
      throw InputError(fmt::format("error: run {} cannot be predicted with the tried values: {}\n", report.runs[i].id,
                                   report.rows[i].skipped));
    }
    errors[static_cast<Index>(i)] = report.rows[i].error;
  }
  return errors;
}

MatrixXd FitProblem::jacobian(const VectorXd& theta, const VectorXd& residual) const {
  const VectorXd top = high();
  MatrixXd result = MatrixXd::Zero(residual.size(), theta.size());
  for (Index k = 0; k < theta.size(); ++k) {
    if (touched(k).empty()) continue;
    const double step = theta[k] + kDifference <= top[k] ? kDifference : -kDifference;
    VectorXd moved = theta;
    moved[k] += step;
    const VectorXd errors = residuals(moved, touched(k));
    for (Index i = 0; i < errors.size(); ++i) {
      const Index row = touched(k)[static_cast<std::size_t>(i)];
      result(row, k) = (errors[i] - residual[row]) / step;
    }
  }
  return result;
}

}  // namespace scenarios
