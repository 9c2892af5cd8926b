#include "scenarios/fit/fit_report.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "scenarios/accuracy/errors.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/report/table.h"
#include "scenarios/report/write_file.h"

namespace scenarios {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;
using Lines = std::vector<std::vector<std::string>>;

constexpr double kConstrains = 0.02;  // a row tells of a parameter when a factor e moves its step by 2 %

/// Three digits: no figure is known better, and files stay readable.
double rounded(double value) { return std::stod(fmt::format("{:.3g}", value)); }

std::string percent(double error) { return fmt::format("{:.1f}", 100 * error); }
std::string signed_percent(double error) { return fmt::format("{:+.1f}", 100 * error); }

struct Reach {
  int rows = 0;
  std::set<std::string> groups;
};

Reach reach_of(const FitProblem& problem, const Fit& fit, Index k) {
  Reach reach;
  for (Index i = 0; i < fit.jacobian.rows(); ++i) {
    if (std::abs(fit.jacobian(i, k)) <= kConstrains) continue;
    ++reach.rows;
    reach.groups.insert(problem.runs()[static_cast<std::size_t>(i)].group);
  }
  return reach;
}

/// How well the rows tell parameters apart. H = curvature, C = its inverse:
///   own share of k = 1 / (H_kk C_kk): 1 = no other parameter can stand in for it, 0 = others can altogether
///   correlation of k, l = C_kl / sqrt(C_kk C_ll)
struct Redundancy {
  double own = 1;
  Index partner = 0;
  double correlation = 0;
};

std::vector<Redundancy> redundancies(const FitProblem& problem, const Fit& fit) {
  const LinearProblem at_fit = linearised(problem, fit.theta, fit.residual, fit.jacobian, 0);
  const MatrixXd h = curvature(at_fit, VectorXd::Zero(fit.theta.size()));
  const MatrixXd c = h.llt().solve(MatrixXd::Identity(h.rows(), h.cols()));
  std::vector<Redundancy> result;
  for (Index k = 0; k < h.rows(); ++k) {
    Redundancy redundancy{.own = 1 / (h(k, k) * c(k, k)), .partner = k, .correlation = 0};
    for (Index l = 0; l < h.rows(); ++l) {
      const double correlation = l == k ? 0 : c(k, l) / std::sqrt(c(k, k) * c(l, l));
      if (std::abs(correlation) <= std::abs(redundancy.correlation)) continue;
      redundancy.partner = l;
      redundancy.correlation = correlation;
    }
    result.push_back(redundancy);
  }
  return result;
}

std::string parameters_text(const FitProblem& problem, const Fit& fit, const CrossValidation& left_out) {
  const std::vector<Redundancy> redundant = redundancies(problem, fit);
  Lines lines{{"parameter", "unit", "catalogue", "fitted", "+- %", "rows", "groups", "own %", "most alike"}};
  for (std::size_t i = 0; i < problem.parameters().size(); ++i) {
    const FittedParameter& parameter = problem.parameters()[i];
    const Index k = static_cast<Index>(i);
    const double value = rounded(std::exp(fit.theta[k]));
    const bool at_bound = value <= rounded(parameter.low) || value >= rounded(parameter.high);
    const Reach reach = reach_of(problem, fit, k);
    const Redundancy& own = redundant[i];
    lines.push_back({parameter.name, parameter.unit, fmt::format("{:g}", std::exp(fit.start[k])),
                     fmt::format("{:g}{}", value, at_bound ? " (bound)" : ""),
                     reach.rows == 0 ? "-" : percent(left_out.standard_error[k]), std::to_string(reach.rows),
                     std::to_string(reach.groups.size()), fmt::format("{:.0f}", 100 * own.own),
                     own.correlation == 0
                         ? "-"
                         : fmt::format("{:+.2f} {}", own.correlation,
                                       problem.parameters()[static_cast<std::size_t>(own.partner)].name)});
  }
  return table(lines);
}

using Selection = std::vector<Index>;

ErrorSummary summary(const VectorXd& residual, const Selection& rows) {
  std::vector<RowError> errors;
  for (const Index row : rows) errors.push_back({.error = residual[row], .baseline = {}, .group = "", .weight = 1});
  return summarise(errors);
}

std::vector<std::string> error_cells(const std::string& name, const Selection& rows, const Fit& fit,
                                     const CrossValidation& left_out) {
  const ErrorSummary before = summary(fit.start_residual, rows), after = summary(fit.residual, rows);
  const ErrorSummary unseen = summary(left_out.residual, rows);
  return {name,
          std::to_string(rows.size()),
          percent(before.median),
          percent(before.p90),
          signed_percent(before.bias),
          percent(after.median),
          percent(after.p90),
          signed_percent(after.bias),
          percent(unseen.median),
          percent(summary(left_out.linear, rows).median),
          after.median > 0 ? fmt::format("{:.2f}", unseen.median / after.median) : "-"};
}

std::string errors_text(const FitProblem& problem, const Fit& fit, const CrossValidation& left_out) {
  std::map<std::string, Selection> families;
  Selection all;
  for (std::size_t i = 0; i < problem.runs().size(); ++i) {
    families[problem.runs()[i].family].push_back(static_cast<Index>(i));
    all.push_back(static_cast<Index>(i));
  }
  Lines lines{{"family", "rows", "median %", "p90 %", "bias %", "fitted: median %", "p90 %", "bias %",
               "group left out: median %", "linear %", "ratio"}};
  for (const auto& [family, rows] : families) lines.push_back(error_cells(family, rows, fit, left_out));
  lines.push_back(error_cells("all", all, fit, left_out));
  return table(lines, 1);
}

std::string changes_text(const FitProblem& problem, const Fit& fit) {
  std::string text;
  for (std::size_t k = 0; k < problem.parameters().size(); ++k) {
    const FittedParameter& parameter = problem.parameters()[k];
    for (const std::string& file : parameter.files) {
      text += fmt::format("{}/{}.yaml  {}: {:g}{}{}\n", parameter.kind, file, parameter.key,
                          rounded(std::exp(fit.theta[static_cast<Index>(k)])), parameter.unit.empty() ? "" : " ",
                          parameter.unit);
    }
  }
  return text;
}

}  // namespace

std::string fit_text(const FitProblem& problem, const Fit& fit, const CrossValidation& left_out) {
  return fmt::format(
      "{} fitted parameters, {} rows in {} groups, loss {:.4f} -> {:.4f} in {} rounds{}\n\n{}\n"
      "error = ln(predicted / measured); group left out: predicted without the runs of the same group\n\n{}\n"
      "In the catalogue\n{}",
      problem.parameters().size(), problem.runs().size(), left_out.groups.size(), fit.start_loss, fit.loss, fit.rounds,
      fit.settled ? "" : ", not settled", parameters_text(problem, fit, left_out), errors_text(problem, fit, left_out),
      changes_text(problem, fit));
}

void write_fitted(const std::filesystem::path& directory, const FitProblem& problem, const Fit& fit) {
  Catalog catalog = problem.catalog_at(fit.theta);
  std::set<std::pair<std::string, std::string>> files;
  for (std::size_t k = 0; k < problem.parameters().size(); ++k) {
    const FittedParameter& parameter = problem.parameters()[k];
    set_value(catalog, parameter, rounded(std::exp(fit.theta[static_cast<Index>(k)])));
    for (const std::string& file : parameter.files) files.emplace(parameter.kind, file);
  }
  for (const auto& [kind, file] : files) {
    std::error_code failure;
    std::filesystem::create_directories(directory / kind, failure);
    if (failure) throw InputError(fmt::format("{}: error: {}\n", (directory / kind).string(), failure.message()));
    write_file(directory / kind / (file + ".yaml"), catalog.find(kind, file)->text);
  }
}

}  // namespace scenarios
