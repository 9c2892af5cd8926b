#include <fmt/format.h>

#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "hw_models/cluster_check.h"
#include "hw_models/nic_assignment.h"
#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/sections.h"

namespace scenarios {
namespace {

constexpr std::int64_t kMostRanks = 1'000'000;  // as many as a cluster may have GPUs
constexpr std::string_view kRemove = "remove 'faults' to see what a sound cluster does";

/// A key may name one fault or a list of them.
std::vector<Value> one_or_more(const std::optional<Value>& value) {
  if (!value) return {};
  return value->kind() == Value::Kind::kList ? value->items() : std::vector<Value>{*value};
}

void read_slow_gpu(const Value& value, Diagnostics& diagnostics, FaultsSection& section) {
  MapReader reader(value, diagnostics);
  if (value.kind() == Value::Kind::kMap) {
    if (!reader.has("rank")) reader.missing("rank", "which rank runs on the slow GPU, e.g. 5");
    if (!reader.has("factor")) reader.missing("factor", "its speed over that of the others, e.g. 0.8");
  }
  const auto rank = reader.integer("rank", 0, kMostRanks - 1);
  const auto factor = reader.number("factor", 0.001, 1);
  reader.finish();
  if (!rank || !factor) return;
  section.faults.slow_gpus.push_back({strategies::Rank{static_cast<std::int32_t>(*rank)}, *factor});
  section.slow_gpus.push_back({value.place(), reader.place("rank")});
}

void read_dead_nic(const Value& value, Diagnostics& diagnostics, FaultsSection& section) {
  MapReader reader(value, diagnostics);
  if (value.kind() == Value::Kind::kMap) {
    if (!reader.has("node")) reader.missing("node", "which node has the dead NIC, e.g. 3");
    if (!reader.has("nic")) reader.missing("nic", "which of the node's NICs is dead, e.g. 2");
  }
  const auto node = reader.integer("node", 0, kMostRanks - 1);
  const auto nic = reader.integer("nic", 0, kMostRanks - 1);
  reader.finish();
  if (!node || !nic) return;
  section.faults.dead_nics.push_back({static_cast<int>(*node), static_cast<int>(*nic)});
  section.dead_nics.push_back({value.place(), reader.place("node"), reader.place("nic")});
}

void check_slow_gpus(const FaultsSection& section, const hw_models::ClusterSpec& cluster, Diagnostics& diagnostics) {
  const int ranks = cluster.gpus();
  std::set<strategies::Rank> seen;
  for (std::size_t i = 0; i < section.slow_gpus.size(); ++i) {
    const sim::SlowGpu& slow = section.faults.slow_gpus[i];
    const FaultsSection::SlowGpuPlace& place = section.slow_gpus[i];
    if (slow.rank.value >= ranks) {
      diagnostics.error(place.rank, fmt::format("there is no rank {} among {} ranks", slow.rank.value, ranks),
                        fmt::format("use 0 to {}", ranks - 1));
    } else if (!seen.insert(slow.rank).second) {
      diagnostics.error(place.rank, fmt::format("rank {} is slow twice", slow.rank.value), "keep one");
    } else if (slow.speed < 1) {
      diagnostics.warning(place.all,
                          fmt::format("rank {} computes at {:g} of the others' speed", slow.rank.value, slow.speed),
                          std::string(kRemove));
    }
  }
}

/// "GPU 2 uses NIC 3": what changes in the node of a dead NIC.
std::string fallbacks(const hw_models::ClusterSpec& cluster, const hw_models::DeadNic& dead) {
  hw_models::ClusterSpec sound = cluster;
  sound.dead_nics.clear();
  const hw_models::ClusterNumbering number(cluster);
  const hw_models::NicAssignment before(sound, number), after(cluster, number);
  std::string text;
  for (int local = 0; local < cluster.node_at(dead.node).gpus; ++local) {
    const int gpu = cluster.first_gpu(dead.node) + local;
    const hw_models::NicSet old_nics = before.of(gpu), new_nics = after.of(gpu);
    bool had = false;
    for (int i = 0; i < old_nics.size(); ++i) had = had || old_nics[i] == dead.nic;
    if (!had) continue;
    std::vector<int> left;
    for (int i = 0; i < new_nics.size(); ++i) left.push_back(new_nics[i]);
    text += fmt::format("{} GPU {} uses NIC {}", text.empty() ? "" : ",", local, fmt::join(left, " and "));
  }
  return text.empty() ? " no GPU uses it" : text;
}

bool needs_nics(const hw_models::ClusterSpec& cluster) {
  return cluster.nodes > 1 && (cluster.mixed() || cluster.gpus() > hw_models::domain_size(cluster.node));
}

/// Whether all NICs are there, and one of every node lives.
bool dead_nics_exist(const FaultsSection& section, const hw_models::ClusterSpec& cluster, Diagnostics& diagnostics) {
  const std::size_t before = error_count(diagnostics);
  std::map<int, std::set<int>> dead_in;
  for (std::size_t i = 0; i < section.dead_nics.size(); ++i) {
    const auto& [node, nic] = section.faults.dead_nics[i];
    const FaultsSection::DeadNicPlace& place = section.dead_nics[i];
    const int nics = cluster.node_at(node).nics;
    if (node >= cluster.nodes) {
      diagnostics.error(place.node, fmt::format("there is no node {} among {} nodes", node, cluster.nodes),
                        fmt::format("use 0 to {}", cluster.nodes - 1));
    } else if (nic >= nics) {
      diagnostics.error(place.nic, fmt::format("there is no NIC {} among the {} of a node", nic, nics),
                        nics > 0 ? fmt::format("use 0 to {}", nics - 1) : "remove it");
    } else if (!dead_in[node].insert(nic).second) {
      diagnostics.error(place.nic, fmt::format("NIC {} of node {} is dead twice", nic, node), "keep one");
    } else if (std::cmp_equal(dead_in[node].size(), nics) && needs_nics(cluster)) {
      diagnostics.error(place.nic, fmt::format("node {} has no living NIC left to reach the other nodes", node),
                        "leave one alive, or take the node out of the cluster");
    }
  }
  return error_count(diagnostics) == before;
}

/// {leaf: 3, factor: 0.5} or {node: 3, factor: 0.5}
std::optional<hw_models::ThinLink> read_thin_link(const Value& value, Diagnostics& diagnostics) {
  MapReader reader(value, diagnostics);
  if (value.kind() == Value::Kind::kMap) {
    if (reader.has("leaf") && reader.has("node")) {
      diagnostics.error(reader.place("node"), "'leaf' and 'node' exclude each other", "keep one");
    }
    if (!reader.has("leaf") && !reader.has("node")) reader.missing("leaf", "whose uplinks are thin, e.g. leaf: 3");
    if (!reader.has("factor")) reader.missing("factor", "what is left of the bandwidth, e.g. 0.5");
  }
  const auto leaf = reader.integer("leaf", 0, kMostRanks - 1);
  const auto node = reader.integer("node", 0, kMostRanks - 1);
  const auto factor = reader.number("factor", 0, 1);
  reader.finish();
  if ((!leaf && !node) || !factor) return std::nullopt;
  using At = hw_models::ThinLink::At;
  return hw_models::ThinLink{leaf ? At::kLeaf : At::kNode, static_cast<int>(leaf ? *leaf : *node), *factor};
}

void check_dead_nics(const FaultsSection& section, hw_models::ClusterSpec cluster,
                     const strategies::PlacementChoice& placement, Diagnostics& diagnostics) {
  if (!dead_nics_exist(section, cluster, diagnostics) || diagnostics.has_errors()) return;
  cluster.dead_nics = section.faults.dead_nics;
  cluster.chosen_nics = placement.chosen_nics(cluster.node.gpus);
  for (std::size_t i = 0; i < section.dead_nics.size(); ++i) {
    const hw_models::DeadNic& dead = section.faults.dead_nics[i];
    diagnostics.warning(section.dead_nics[i].all,
                        fmt::format("NIC {} of node {} is dead:{}", dead.nic, dead.node, fallbacks(cluster, dead)),
                        std::string(kRemove));
  }
}

/// A thin link is a warning, one that the cluster does not have an error.
void check_thin_link(const Value& root, const hw_models::ThinLink& thin, hw_models::ClusterSpec cluster,
                     Diagnostics& diagnostics) {
  cluster.thin_link = thin;
  try {
    hw_models::check(cluster);
  } catch (const std::invalid_argument& problem) {  // "thin_link.leaf: what is wrong"
    const std::string text = problem.what();
    const std::size_t colon = text.find(": ");
    diagnostics.error(place_of(root, "faults." + text.substr(0, colon)), text.substr(colon + 2));
    return;
  }
  if (thin.factor == 1) return;
  diagnostics.warning(
      place_of(root, "faults.thin_link"),
      fmt::format("{} {} at {:g} of the bandwidth",
                  thin.at == hw_models::ThinLink::At::kLeaf ? "the uplinks of leaf" : "the NICs of node", thin.index,
                  thin.factor),
      std::string(kRemove));
}

}  // namespace

std::optional<FaultsSection> read_faults(const Value& value, Reading& reading) {
  const std::size_t before = error_count(reading.diagnostics);
  MapReader reader(value, reading.diagnostics);
  FaultsSection section;
  for (const Value& slow : one_or_more(reader.value("slow_gpu"))) read_slow_gpu(slow, reading.diagnostics, section);
  for (const Value& dead : one_or_more(reader.value("dead_nic"))) read_dead_nic(dead, reading.diagnostics, section);
  if (const auto thin = reader.value("thin_link")) {
    section.faults.thin_link = read_thin_link(*thin, reading.diagnostics);
  }
  reader.finish();
  return error_count(reading.diagnostics) == before ? std::optional(section) : std::nullopt;
}

void check_faults(const Value& root, const FaultsSection& section, const hw_models::ClusterSpec& cluster,
                  const strategies::PlacementChoice& placement, Diagnostics& diagnostics) {
  check_slow_gpus(section, cluster, diagnostics);
  check_dead_nics(section, cluster, placement, diagnostics);
  if (section.faults.thin_link) check_thin_link(root, *section.faults.thin_link, cluster, diagnostics);
}

}  // namespace scenarios
