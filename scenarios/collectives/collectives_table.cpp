#include "scenarios/collectives/collectives_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/cluster_text.h"
#include "scenarios/report/table.h"

namespace scenarios {

CollectivesTable collectives_table(const Machine& machine, const hw_models::ClusterSpec& cluster,
                                   const CollectiveTest& test, std::int64_t smallest, std::int64_t largest) {
  CollectivesTable table{
      &test, machine.ranks(), cluster.nodes, nodes_text(cluster), node_names(cluster), cluster.fabric.name, {}};
  for (std::int64_t bytes = smallest; bytes <= largest; bytes *= 2) {
    CollectiveRow row;
    row.bytes = bytes;
    row.estimate = machine.estimate(test, bytes);
    row.bottleneck = machine.bottleneck(row.estimate);
    row.time_us = row.estimate.time.value() * 1e6;
    row.algbw = row.time_us > 0 ? static_cast<double>(bytes) / row.time_us / 1e3 : 0;
    row.busbw = row.algbw * bus_factor(test, machine.ranks());
    table.rows.push_back(row);
  }
  return table;
}

std::string collectives_table_text(const CollectivesTable& collectives) {
  std::string text = fmt::format("# {} on {} GPUs, {}{}\n", collectives.test->name, collectives.ranks,
                                 collectives.counted_nodes, collectives.nodes > 1 ? ", " + collectives.fabric : "");
  std::vector<std::vector<std::string>> rows{
      {"size", "time", "algbw", "busbw", "latency", "algorithm", "protocol", "limited by"},
      {"(B)", "(us)", "(GB/s)", "(GB/s)", "(us)", "", "", ""}};
  for (const CollectiveRow& row : collectives.rows) {
    rows.push_back({std::to_string(row.bytes), fmt::format("{:.2f}", row.time_us), fmt::format("{:.2f}", row.algbw),
                    fmt::format("{:.2f}", row.busbw), fmt::format("{:.2f}", row.estimate.latency.value() * 1e6),
                    name(row.estimate.algorithm), name(row.estimate.protocol), row.bottleneck});
  }
  return text + table(rows, 0);
}

std::string collectives_table_json(const CollectivesTable& collectives) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const CollectiveRow& row : collectives.rows) {
    rows.push_back({{"bytes", row.bytes},
                    {"time_us", row.time_us},
                    {"algbw_GBps", row.algbw},
                    {"busbw_GBps", row.busbw},
                    {"algorithm", name(row.estimate.algorithm)},
                    {"protocol", name(row.estimate.protocol)},
                    {"bottleneck_link", row.bottleneck},
                    {"latency_us", row.estimate.latency.value() * 1e6}});
  }
  const Json json{{"operation", collectives.test->name}, {"gpus", collectives.ranks},
                  {"nodes", collectives.nodes},          {"node", collectives.node},
                  {"fabric", collectives.fabric},        {"rows", rows}};
  return json.dump(2) + "\n";
}

}  // namespace scenarios
