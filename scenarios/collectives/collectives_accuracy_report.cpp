#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/accuracy/summary_json.h"
#include "scenarios/collectives/collectives_accuracy.h"
#include "scenarios/report/table.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(const ErrorSummary& errors, double value) {
  return errors.rows == 0 ? "-" : fmt::format("{:.1f}", 100 * value);
}

std::vector<std::string> total_cells(const CollectiveTotals& totals) {
  std::vector<std::string> cells{totals.name, std::to_string(totals.all.rows)};
  for (const ErrorSummary* errors : {&totals.all, &totals.below_1mib, &totals.from_1mib}) {
    cells.push_back(percent(*errors, errors->median));
    cells.push_back(percent(*errors, errors->p90));
  }
  return cells;
}

std::vector<std::string> system_cells(const SystemAccuracy& system) {
  const ErrorSummary& all = system.errors;
  std::vector<std::string> cells{system.system + (system.usual_network ? " *" : ""),
                                 std::to_string(system.nodes),
                                 std::to_string(all.rows),
                                 percent(all, all.median),
                                 percent(all, all.p90),
                                 fmt::format("{:+.1f}", 100 * all.bias),
                                 percent(system.from_16mib, system.from_16mib.median)};
  constexpr int kFirst = 1, kLast = 10;  // 10 B ... 10 GB
  for (int exponent = kFirst; exponent <= kLast; ++exponent) {
    std::string cell = "-";
    for (const SizeDecade& decade : system.decades) {
      const bool here = std::lround(std::log10(std::max(decade.from_bytes, 10.0))) == exponent;
      if (here) cell = percent(decade.errors, decade.errors.median);
    }
    cells.push_back(cell);
  }
  return cells;
}

Json totals_json(const CollectiveTotals& totals) {
  Json json = errors_json(totals.all);
  json["below_1mib"] = errors_json(totals.below_1mib);
  json["from_1mib"] = errors_json(totals.from_1mib);
  return json;
}

Json system_json(const SystemAccuracy& system) {
  Json json{{"system", system.system}, {"nodes", system.nodes}, {"usual_network", system.usual_network}};
  json.update(errors_json(system.errors));
  json["from_16mib"] = errors_json(system.from_16mib);
  json["decades"] = Json::array();
  for (const SizeDecade& decade : system.decades) {
    Json one{{"from_bytes", decade.from_bytes}};
    one.update(errors_json(decade.errors));
    json["decades"].push_back(one);
  }
  return json;
}

}  // namespace

std::string collectives_accuracy_text(const CollectivesAccuracy& accuracy) {
  std::string text = fmt::format(
      "{} rows of {} systems. error = ln(predicted / measured), |error| in %; every system weighs the same in the "
      "totals\n\n",
      accuracy.rows.size(), accuracy.systems.size());
  std::vector<std::vector<std::string>> totals{
      {"", "rows", "median", "p90", "< 1 MiB median", "p90", ">= 1 MiB median", "p90"}};
  for (const CollectiveTotals& one : accuracy.totals) totals.push_back(total_cells(one));
  text += table(totals, 1) + "\n";
  std::vector<std::vector<std::string>> systems{{"system", "nodes", "rows", "median", "p90", "bias", ">= 16 MiB",
                                                 "10 B", "100 B", "1 kB", "10 kB", "100 kB", "1 MB", "10 MB", "100 MB",
                                                 "1 GB", "10 GB"}};
  bool usual = false;
  for (const SystemAccuracy& system : accuracy.systems) {
    systems.push_back(system_cells(system));
    usual = usual || system.usual_network;
  }
  text += table(systems, 1);
  if (usual) text += "* the network is not said: the node's usual one stands in\n";
  for (const auto& [reason, count] : accuracy.skipped) {
    text += fmt::format("not predicted: {}: {} rows\n", reason, count);
  }
  return text;
}

std::string collectives_accuracy_json(const CollectivesAccuracy& accuracy) {
  Json systems = Json::array();
  for (const SystemAccuracy& system : accuracy.systems) systems.push_back(system_json(system));
  const Json json{{"rows", accuracy.rows.size()},
                  {"total", totals_json(accuracy.totals[0])},
                  {"single_node", totals_json(accuracy.totals[1])},
                  {"multi_node", totals_json(accuracy.totals[2])},
                  {"systems", systems},
                  {"skipped", skipped_json(accuracy.skipped)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace scenarios
