#include "scenarios/fit/correction_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "scenarios/collectives/machines.h"
#include "scenarios/report/table.h"

namespace scenarios {
namespace {

constexpr int kFewestRows = 20;
constexpr double kOutlier = 0.7;

/// Launch (us), step, bandwidth, ramp (us); a fabric has no bandwidth.
using Numbers = std::array<double, 4>;

struct FitRow {
  const MeasuredCollective* measured;
  Machine* machine;
  std::string group;
};

struct Set {
  bool fabric = false;
  std::vector<FitRow> rows;
};

hw_models::Seconds micro(double value) { return hw_models::Seconds(value * 1e-6); }

hw_models::NodeCorrection node_of(const Numbers& x) { return {micro(x[0]), x[1], x[2], micro(x[3])}; }
hw_models::FabricCorrection fabric_of(const Numbers& x) { return {micro(x[0]), x[1], micro(x[3])}; }

double error(const FitRow& row, const Numbers& x, bool fabric) {
  const hw_models::NcclSystem before = row.machine->system();
  row.machine->set_corrections(fabric ? before.node : node_of(x), fabric ? fabric_of(x) : before.fabric);
  const double predicted = row.machine->estimate(*row.measured->test, row.measured->bytes).time.value() * 1e6;
  row.machine->set_corrections(before.node, before.fabric);
  return std::abs(std::log(predicted / row.measured->time_us));
}

double mean_error(const Set& set, const Numbers& x) {
  double sum = 0;
  for (const FitRow& row : set.rows) sum += std::min(error(row, x, set.fabric), kOutlier);
  return sum / static_cast<double>(set.rows.size());
}

/// One pass over all numbers, each moved up or down by its step where that helps.
bool improve(const Set& set, const Numbers& steps, Numbers& x, double& best) {
  bool improved = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (set.fabric && i == 2) continue;
    for (const double direction : {1.0, -1.0}) {
      Numbers moved = x;
      moved[i] = std::max(i == 2 ? 0.05 : 0.0, x[i] + direction * steps[i]);
      const double mean = mean_error(set, moved);
      if (mean >= best - 1e-7) continue;
      best = mean;
      x = moved;
      improved = true;
      break;
    }
  }
  return improved;
}

Numbers search(const Set& set, Numbers x) {
  Numbers steps{2, 0.2, 0.05, 40};
  double best = mean_error(set, x);
  constexpr int kPasses = 200;
  for (int pass = 0; pass < kPasses && steps[1] > 0.01; ++pass) {
    if (improve(set, steps, x, best)) continue;
    for (double& step : steps) step /= 2;
  }
  return x;
}

double median_error(const Set& set, const Numbers& x) {
  std::vector<std::pair<double, double>> errors;
  for (const FitRow& row : set.rows) errors.emplace_back(error(row, x, set.fabric), 1);
  return weighted_quantile(std::move(errors), 0.5);
}

std::map<std::string, int> groups(const Set& set) {
  std::map<std::string, int> count;
  for (const FitRow& row : set.rows) ++count[row.group];
  return count;
}

double held_out_median(const Set& set, const Numbers& start) {
  std::vector<std::pair<double, double>> errors;
  for (const auto& [group, count] : groups(set)) {
    Set rest{set.fabric, {}};
    for (const FitRow& row : set.rows) {
      if (row.group != group) rest.rows.push_back(row);
    }
    if (rest.rows.empty()) return 0;
    const Numbers x = search(rest, start);
    for (const FitRow& row : set.rows) {
      if (row.group == group) errors.emplace_back(error(row, x, set.fabric), 1);
    }
  }
  return weighted_quantile(std::move(errors), 0.5);
}

CorrectionFit fit(const std::string& name, const Set& set) {
  const Numbers start = set.fabric ? Numbers{0, 1, 1, 100} : Numbers{8, 1.4, 1, 80};
  const Numbers x = search(set, start);
  CorrectionFit fit;
  fit.name = name;
  fit.fabric = set.fabric;
  fit.rows = static_cast<int>(set.rows.size());
  fit.groups = static_cast<int>(groups(set).size());
  fit.node = node_of(x);
  fit.network = fabric_of(x);
  fit.median = median_error(set, x);
  fit.held_out_median = held_out_median(set, x);
  return fit;
}

}  // namespace

std::vector<CorrectionFit> fit_corrections(const std::vector<MeasuredCollective>& rows, const Catalog& catalog) {
  Machines machines(catalog);
  std::map<std::string, int> counts;
  for (const MeasuredCollective& row : rows) ++counts[row.system];
  std::map<std::string, Set> sets;
  for (const MeasuredCollective& row : rows) {
    const SweepMachine& found = machines.of(row);
    if (found.machine == nullptr || found.machine->ranks() < 2 || counts[row.system] < kFewestRows) continue;
    const FitRow one{&row, found.machine.get(), fmt::format("{} {} {}", row.system, row.gpus, row.test->name)};
    const bool inside = found.machine->one_domain();
    Set& set = sets[inside ? "node " + found.node : "fabric " + found.fabric];
    set.fabric = !inside;
    set.rows.push_back(one);
    const auto& facts = hw_models::facts(found.machine->system().generation);
    if (inside) sets["generation " + std::string(facts.name)].rows.push_back(one);
  }
  std::vector<CorrectionFit> fits;
  for (const auto& [name, set] : sets) fits.push_back(fit(name, set));
  return fits;
}

std::string fit_text(const std::vector<CorrectionFit>& fits) {
  std::vector<std::vector<std::string>> lines{
      {"", "rows", "groups", "launch us", "step", "bandwidth", "ramp us", "median %", "held-out median %"}};
  for (const CorrectionFit& fit : fits) {
    const double launch = fit.fabric ? fit.network.launch.value() : fit.node.launch.value();
    const double ramp = fit.fabric ? fit.network.ramp.value() : fit.node.ramp.value();
    lines.push_back({fit.name, std::to_string(fit.rows), std::to_string(fit.groups),
                     fmt::format("{:.1f}", launch * 1e6),
                     fmt::format("{:.2f}", fit.fabric ? fit.network.step : fit.node.step),
                     fit.fabric ? "-" : fmt::format("{:.3f}", fit.node.bandwidth), fmt::format("{:.0f}", ramp * 1e6),
                     fmt::format("{:.1f}", 100 * fit.median), fmt::format("{:.1f}", 100 * fit.held_out_median)});
  }
  return table(lines, 1);
}

}  // namespace scenarios
