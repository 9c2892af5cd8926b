#include "scenarios/report/placement_report.h"

#include <fmt/format.h>

#include <vector>

#include "scenarios/report/cluster_text.h"
#include "scenarios/report/table.h"

namespace scenarios {
namespace {

using strategies::Extent;

std::string extent_text(const Extent& extent) {
  return extent.least == extent.most ? std::to_string(extent.most) : fmt::format("{}-{}", extent.least, extent.most);
}

nlohmann::ordered_json extent_json(const Extent& extent) { return {extent.least, extent.most}; }

}  // namespace

std::string placement_text(const Scenario& scenario, const PlacementPrediction& placement) {
  const hw_models::ClusterSpec& cluster = scenario.cluster;
  std::vector<std::vector<std::string>> rows{{"  family", "groups", "ranks", "nodes", "domains", "ranks per node",
                                              "rails", "leave domain", "leave unit", "mis-railed"}};
  for (const strategies::FamilySpread& family : placement.families) {
    rows.push_back({"  " + family.name, std::to_string(family.groups), std::to_string(family.ranks),
                    extent_text(family.hosts), extent_text(family.domains), extent_text(family.ranks_per_host),
                    extent_text(family.rails), std::to_string(family.across_domains),
                    std::to_string(family.across_units), std::to_string(family.misrailed)});
  }
  const auto gpus = [&](std::size_t pool) { return fmt::format(" ({} GPUs each)", cluster.node_of_pool(pool).gpus); };
  std::string text =
      fmt::format("{}{}; placement {}, rank order {}\n\n", nodes_text(cluster, gpus),
                  cluster.nodes > 1 ? ", " + cluster.fabric.name : "", placement.rule, scenario.plan.rank_order);
  if (placement.families.empty()) return text + "No ranks communicate.\n";
  text +=
      "Where the groups of every family lie\n" + table(rows, 1) +
      "\nrails: NICs, by their index in the node, that one group uses; leave domain, leave unit, mis-railed: how many "
      "groups\ngo beyond GPUs that need no NIC, beyond the nodes under one set of leaves, through other rails on one "
      "node than on another\n";
  for (const std::string& warning : placement.warnings) text += "\n" + warning + "\n";
  return text;
}

nlohmann::ordered_json placement_json(const PlacementPrediction& placement) {
  nlohmann::ordered_json families = nlohmann::ordered_json::array();
  for (const strategies::FamilySpread& family : placement.families) {
    families.push_back({{"name", family.name},
                        {"groups", family.groups},
                        {"ranks", family.ranks},
                        {"hosts", extent_json(family.hosts)},
                        {"domains", extent_json(family.domains)},
                        {"ranks_per_host", extent_json(family.ranks_per_host)},
                        {"rails", extent_json(family.rails)},
                        {"across_domains", family.across_domains},
                        {"across_units", family.across_units},
                        {"misrailed", family.misrailed}});
  }
  return {{"rule", placement.rule}, {"families", families}};
}

}  // namespace scenarios
