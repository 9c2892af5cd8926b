#include "scenarios/report/fabric_report.h"

#include <fmt/format.h>

#include <vector>

#include "hw_models/fabric_shape.h"
#include "scenarios/report/cluster_text.h"
#include "scenarios/report/table.h"

namespace scenarios {
namespace {

struct Tier {
  const char* switches;
  int count, downlinks, uplinks;
  hw_models::BytesPerSecond uplink{};
};

/// Those that are built.
std::vector<Tier> tiers_of(const hw_models::ClusterSpec& cluster) {
  const hw_models::FabricShape shape = hw_models::fabric_shape(cluster);
  std::vector<Tier> tiers;
  if (shape.leaves == 0) return tiers;
  tiers.push_back({"leaf", shape.leaves, shape.downlinks, shape.uplinks, shape.leaf_cable});
  if (shape.pods == 0) return tiers;
  tiers.push_back(
      {"spine", shape.pods * shape.spines_per_pod, shape.leaves_per_pod, shape.spine_uplinks, shape.spine_cable});
  if (shape.cores > 0) tiers.push_back({"core", shape.cores, shape.pods, 0});
  return tiers;
}

double share(const hw_models::FabricSpec& fabric, std::size_t tier) {
  return 1 / hw_models::taper(fabric, static_cast<int>(tier));
}

int crossed(std::size_t tier) { return static_cast<int>(hw_models::switches_crossed(static_cast<int>(tier))); }

}  // namespace

std::string fabric_text(const hw_models::ClusterSpec& cluster) {
  const hw_models::FabricSpec& fabric = cluster.fabric;
  std::string text = fmt::format("{}: {}, {} nodes of {}, {} plane{}, {} routing\n\n", fabric.name, name(fabric.kind),
                                 cluster.nodes, node_names(cluster), fabric.planes, fabric.planes > 1 ? "s" : "",
                                 fabric.hash_seed ? fmt::format("hashed (seed {})", *fabric.hash_seed) : "balanced");
  const std::vector<Tier> tiers = tiers_of(cluster);
  if (tiers.empty()) return text + "No switches between the nodes.\n";
  std::vector<std::vector<std::string>> rows{
      {"tier", "switches", "downlinks", "uplinks", "uplink GB/s", "switches crossed", "share of a NIC"}};
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const Tier& tier = tiers[i];
    const bool up = tier.uplinks > 0;
    rows.push_back({tier.switches, fmt::format("{}", tier.count), fmt::format("{}", tier.downlinks),
                    up ? fmt::format("{}", tier.uplinks) : "-",
                    up ? fmt::format("{:.1f}", tier.uplink.value() / 1e9) : "-", fmt::format("{}", crossed(i)),
                    fmt::format("{:.3g}", share(fabric, i))});
  }
  return text + table(rows, 1) + (fabric.planes > 1 ? "\nSwitches and cables of one plane.\n" : "");
}

nlohmann::ordered_json fabric_json(const hw_models::ClusterSpec& cluster) {
  const hw_models::FabricSpec& fabric = cluster.fabric;
  nlohmann::ordered_json json{{"fabric", fabric.name},
                              {"kind", name(fabric.kind)},
                              {"nodes", cluster.nodes},
                              {"planes", fabric.planes},
                              {"routing", fabric.hash_seed ? "hashed" : "balanced"},
                              {"hash_seed", nullptr}};
  if (fabric.hash_seed) json["hash_seed"] = *fabric.hash_seed;
  json["tiers"] = nlohmann::ordered_json::array();
  const std::vector<Tier> tiers = tiers_of(cluster);
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    json["tiers"].push_back({{"switches", tiers[i].count},
                             {"of", tiers[i].switches},
                             {"downlinks", tiers[i].downlinks},
                             {"uplinks", tiers[i].uplinks},
                             {"uplink_GBps", tiers[i].uplink.value() / 1e9},
                             {"switches_crossed", crossed(i)},
                             {"share", share(fabric, i)}});
  }
  return json;
}

}  // namespace scenarios
