#include "scenarios/collectives/collectives_accuracy.h"

#include <algorithm>
#include <cmath>

#include "scenarios/collectives/machines.h"

namespace scenarios {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

CollectiveResult result_of(const MeasuredCollective& row, std::size_t index, const SweepMachine& machine) {
  CollectiveResult result;
  result.row = index;
  result.skipped = machine.reason;
  if (machine.machine != nullptr && machine.machine->ranks() < 2) result.skipped = "one GPU alone";
  if (!result.skipped.empty()) return result;
  result.predicted_us = machine.machine->estimate(*row.test, row.bytes).time.value() * 1e6;
  result.error = std::log(result.predicted_us / row.time_us);
  return result;
}

double decade(std::int64_t bytes) { return std::pow(10, std::floor(std::log10(static_cast<double>(bytes)) + 1e-9)); }

/// The results of the rows that `wanted` accepts.
template <class Wanted>
ErrorSummary summary(const CollectivesAccuracy& accuracy, const Wanted& wanted, bool systems_equal) {
  std::map<std::string, int> counts;
  for (const CollectiveResult& result : accuracy.results) {
    if (result.skipped.empty() && wanted(accuracy.rows[result.row])) ++counts[accuracy.rows[result.row].system];
  }
  std::vector<RowError> errors;
  for (const CollectiveResult& result : accuracy.results) {
    const MeasuredCollective& row = accuracy.rows[result.row];
    if (!result.skipped.empty() || !wanted(row)) continue;
    errors.push_back({result.error, std::nullopt, row.system, systems_equal ? 1.0 / counts[row.system] : 1.0});
  }
  return summarise(errors);
}

SystemAccuracy system_accuracy(const CollectivesAccuracy& accuracy, const std::string& name) {
  SystemAccuracy system;
  system.system = name;
  std::map<double, int> decades;
  for (const CollectiveResult& result : accuracy.results) {
    const MeasuredCollective& row = accuracy.rows[result.row];
    if (row.system != name || !result.skipped.empty()) continue;
    system.nodes = std::max(system.nodes, row.nodes);
    ++decades[decade(row.bytes)];
  }
  const auto own = [&name](const MeasuredCollective& row) { return row.system == name; };
  system.errors = summary(accuracy, own, false);
  system.from_16mib = summary(
      accuracy, [&](const MeasuredCollective& row) { return own(row) && row.bytes >= 16 * kMebibyte; }, false);
  for (const auto& [from, count] : decades) {
    const double begin = from;
    const auto here = [&](const MeasuredCollective& row) { return own(row) && decade(row.bytes) == begin; };
    system.decades.push_back({begin, summary(accuracy, here, false)});
  }
  return system;
}

/// `lowest` ... `highest` nodes.
CollectiveTotals totals(const CollectivesAccuracy& accuracy, const std::string& name, int lowest, int highest) {
  const auto counts = [&](const MeasuredCollective& row) { return row.nodes >= lowest && row.nodes <= highest; };
  const auto small = [&](const MeasuredCollective& row) { return counts(row) && row.bytes < kMebibyte; };
  const auto large = [&](const MeasuredCollective& row) { return counts(row) && row.bytes >= kMebibyte; };
  return {name, summary(accuracy, counts, true), summary(accuracy, small, true), summary(accuracy, large, true)};
}

}  // namespace

CollectivesAccuracy evaluate_collectives(std::vector<MeasuredCollective> rows, const Catalog& catalog) {
  CollectivesAccuracy accuracy;
  accuracy.rows = std::move(rows);
  Machines machines(catalog);
  std::map<std::string, bool> systems;  // whether the usual network stands in
  for (std::size_t i = 0; i < accuracy.rows.size(); ++i) {
    const MeasuredCollective& row = accuracy.rows[i];
    const SweepMachine& machine = machines.of(row);
    CollectiveResult result = result_of(row, i, machine);
    if (result.skipped.empty()) {
      systems[row.system] = systems[row.system] || machine.usual_network;
    } else {
      ++accuracy.skipped[result.skipped];
    }
    accuracy.results.push_back(std::move(result));
  }
  for (const auto& [name, usual] : systems) {
    accuracy.systems.push_back(system_accuracy(accuracy, name));
    accuracy.systems.back().usual_network = usual;
  }
  constexpr int kMany = 1'000'000;
  accuracy.totals = {totals(accuracy, "all", 1, kMany), totals(accuracy, "one node", 1, 1),
                     totals(accuracy, "several nodes", 2, kMany)};
  return accuracy;
}

}  // namespace scenarios
