#include "hw_models/cluster_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "hw_models/cluster_numbering.h"
#include "hw_models/pair_links.h"

namespace hw_models {
namespace {

// Far above any machine built; they keep a typing error from asking for terabytes of graph.
constexpr int kMaxGpusPerNode = 256;
constexpr int kMaxNicsPerNode = 256;
constexpr int kMaxNumaDomains = 64;
constexpr std::int64_t kMaxGpus = 1'000'000;
constexpr int kMaxPlanes = 8;
constexpr int kMaxUplinks = 4096;

void require(bool condition, std::string_view field, const std::string& problem) {
  if (!condition) throw std::invalid_argument(fmt::format("{}: {}", field, problem));
}

void require_range(int value, int low, int high, std::string_view field) {
  require(value >= low && value <= high, field, fmt::format("{} is not between {} and {}", value, low, high));
}

void require_positive(BytesPerSecond bandwidth, std::string_view field) {
  require(std::isfinite(bandwidth.value()) && bandwidth.value() > 0, field, "must be positive");
}

void require_latency(Seconds latency, std::string_view field) {
  require(std::isfinite(latency.value()) && latency.value() >= 0, field, "must not be negative");
}

void check_switch(const NodeSpec& node) {
  require(node.scale_up_domain >= 1 && node.scale_up_domain % node.gpus == 0, "node.scale_up_domain",
          fmt::format("{} GPUs behind switches do not fill whole nodes of {}", node.scale_up_domain, node.gpus));
  if (node.scale_up_domain > 1) require_positive(node.scale_up_bandwidth, "node.scale_up_bandwidth");
}

void check_links(const NodeSpec& node) {
  require(node.scale_up_domain == node.gpus, "node.scale_up_domain",
          fmt::format("links join the {} GPUs of one node, not {}", node.gpus, node.scale_up_domain));
  require(node.gpus <= kMostLinkedGpus, "node.gpus",
          fmt::format("{} GPUs with single links, more than {}", node.gpus, kMostLinkedGpus));
  std::set<std::pair<int, int>> seen;
  for (const PairLink& link : node.links) {
    const auto [low, high] = std::minmax(link.a, link.b);
    require(low >= 0 && high < node.gpus && low != high, "node.links",
            fmt::format("no link joins GPU {} and GPU {}", link.a, link.b));
    require(seen.emplace(low, high).second, "node.links", fmt::format("GPU {} - GPU {} stands twice", low, high));
    require_positive(link.bandwidth, "node.links");
  }
}

void check_scale_up(const NodeSpec& node) {
  require_latency(node.scale_up_latency, "node.scale_up_latency");
  switch (node.scale_up) {
    case ScaleUpKind::kSwitch:
      check_switch(node);
      break;
    case ScaleUpKind::kMesh:
      require(node.scale_up_domain == node.gpus, "node.scale_up_domain",
              fmt::format("a mesh joins the {} GPUs of one node, not {}", node.gpus, node.scale_up_domain));
      if (node.gpus == 1) break;
      require_positive(node.pair_bandwidth, "node.pair_bandwidth");
      require_positive(node.scale_up_bandwidth, "node.scale_up_bandwidth");
      break;
    case ScaleUpKind::kPairs:
      require(node.gpus % 2 == 0, "node.gpus", fmt::format("{} GPUs cannot be bridged in pairs", node.gpus));
      require_positive(node.pair_bandwidth, "node.pair_bandwidth");
      break;
    case ScaleUpKind::kLinks:
      check_links(node);
      break;
    case ScaleUpKind::kNone:
      break;
  }
}

void check_list(const std::vector<int>& list, int size, int below, std::string_view what) {
  require(std::cmp_equal(list.size(), size), "node.wiring", fmt::format("{} {} for {}", list.size(), what, size));
  for (const int entry : list) {
    require(entry >= 0 && entry < below, "node.wiring", fmt::format("{} {} is not one of {}", what, entry, below));
  }
}

void check_wiring(const NodeSpec& node, const PcieWiring& wiring) {
  const int switches = static_cast<int>(wiring.host_of_switch.size());
  require_range(switches, 1, kMaxGpusPerNode + kMaxNicsPerNode, "node.wiring");
  check_list(wiring.switch_of_gpu, node.gpus, switches, "PCIe switches of GPUs");
  check_list(wiring.switch_of_nic, node.nics, switches, "PCIe switches of NICs");
  check_list(wiring.host_of_switch, switches, node.numa_domains, "NUMA domains of PCIe switches");
  require(std::cmp_equal(wiring.nics_of_gpu.size(), node.gpus), "node.wiring",
          fmt::format("NICs of {} GPUs, but {} GPUs", wiring.nics_of_gpu.size(), node.gpus));
  for (const std::vector<int>& nics : wiring.nics_of_gpu) {
    check_list(nics, static_cast<int>(nics.size()), node.nics, "NICs of a GPU");
    require(nics.empty() == (node.nics == 0), "node.wiring", "a GPU without a NIC beside others with one");
    require(std::is_sorted(nics.begin(), nics.end(), std::less_equal<>()), "node.wiring", "NICs are not ascending");
  }
}

void check_node(const NodeSpec& node) {
  require_range(node.gpus, 1, kMaxGpusPerNode, "node.gpus");
  require_range(node.nics, 0, kMaxNicsPerNode, "node.nics");
  require_range(node.gpus_per_pcie_switch, 1, kMaxGpusPerNode, "node.gpus_per_pcie_switch");
  require_range(node.numa_domains, 1, kMaxNumaDomains, "node.numa_domains");
  require_positive(node.pcie_bandwidth, "node.pcie_bandwidth");
  require_latency(node.pcie_latency, "node.pcie_latency");
  if (node.nics > 0) require_positive(node.nic_bandwidth, "node.nic_bandwidth");
  check_scale_up(node);
  if (node.wiring) check_wiring(node, *node.wiring);
}

void check_fabric(const FabricSpec& fabric) {
  require(fabric.nodes_per_unit >= 1, "fabric.nodes_per_unit", "must be at least 1");
  require(std::isfinite(fabric.oversubscription) && fabric.oversubscription >= 1, "fabric.oversubscription",
          fmt::format("{} is below 1", fabric.oversubscription));
  require(fabric.units_per_pod >= 0, "fabric.units_per_pod", "must not be negative");
  require(std::isfinite(fabric.spine_oversubscription) && fabric.spine_oversubscription >= 1,
          "fabric.spine_oversubscription", fmt::format("{} is below 1", fabric.spine_oversubscription));
  require(fabric.spine_oversubscription == 1 || fabric.units_per_pod > 0, "fabric.spine_oversubscription",
          "without units_per_pod there are no cores above the spines");
  require_range(fabric.planes, 1, kMaxPlanes, "fabric.planes");
  require_range(fabric.uplinks, 0, kMaxUplinks, "fabric.uplinks");
  require(fabric.efficiency > 0 && fabric.efficiency <= 1, "fabric.efficiency",
          fmt::format("{} is not in (0, 1]", fabric.efficiency));
  require_latency(fabric.switch_latency, "fabric.switch_latency");
  require_latency(fabric.endpoint_latency, "fabric.endpoint_latency");
  require_latency(fabric.jitter, "fabric.jitter");
}

void check_nics(const ClusterSpec& spec) {
  for (const DeadNic& dead : spec.dead_nics) {
    require(dead.node >= 0 && dead.node < spec.nodes, "dead_nics",
            fmt::format("node {} is not one of {}", dead.node, spec.nodes));
    const int nics = spec.node_at(dead.node).nics;
    require(dead.nic >= 0 && dead.nic < nics, "dead_nics",
            fmt::format("NIC {} is not one of the {} of node {}", dead.nic, nics, dead.node));
  }
  const ClusterNumbering number(spec);
  for (const auto& [gpu, nic] : spec.chosen_nics) {
    require(gpu >= 0 && gpu < number.gpus, "chosen_nics", fmt::format("there is no GPU {}", gpu));
    const int nics = spec.node_at(number.node_of(gpu)).nics;
    require(nic >= 0 && nic < nics, "chosen_nics",
            fmt::format("NIC {} of GPU {} is not one of the {} of its node", nic, gpu, nics));
  }
}

void check_no_node_is_cut_off(const ClusterSpec& spec) {
  std::map<int, std::set<int>> dead_in;
  for (const DeadNic& dead : spec.dead_nics) dead_in[dead.node].insert(dead.nic);
  for (const auto& [node, dead] : dead_in) {
    require(std::cmp_less(dead.size(), spec.node_at(node).nics), "dead_nics",
            fmt::format("node {} has no living NIC left to reach the other {}", node, spec.nodes - 1));
  }
}

/// Of a mixed cluster, what its pools say of each other; each node is checked like any other.
void check_pools(const ClusterSpec& spec) {
  std::int64_t nodes = 0;
  for (const NodePool& pool : spec.pools) {
    require(pool.nodes >= 1, "pools", fmt::format("{} is not a number of nodes", pool.nodes));
    nodes += pool.nodes;
  }
  require(!spec.mixed() || nodes == spec.nodes, "pools", fmt::format("{} nodes in pools of {}", spec.nodes, nodes));
}

bool one_domain(const ClusterSpec& spec) {
  if (spec.pool_count() > 1) return false;
  const NodeSpec& node = spec.node_of_pool(0);
  return node.scale_up == ScaleUpKind::kSwitch && spec.gpus() <= node.scale_up_domain;
}

/// `spec` is sound but for this.
void check_thin_link(const ClusterSpec& spec, const ThinLink& thin) {
  const bool leaf = thin.at == ThinLink::At::kLeaf;
  const ClusterNumbering number(spec);
  const int count = leaf ? number.leaves : number.nodes;
  const std::string_view field = leaf ? "thin_link.leaf" : "thin_link.node";
  require(!leaf || number.spines > 0, field, "the cluster has no leaves with uplinks: one leaf or none reaches all");
  require(thin.index >= 0 && thin.index < count, field,
          fmt::format("there is no {} {}: use 0 to {}", leaf ? "leaf" : "node", thin.index, count - 1));
  require(thin.factor >= 0 && thin.factor <= 1, "thin_link.factor", fmt::format("{} is not in [0, 1]", thin.factor));
  if (thin.factor > 0) return;
  require(leaf, "thin_link.factor", "without its NICs a node is no part of the cluster: use a factor above 0");
  require(spec.fabric.planes > 1, "thin_link.factor",
          "without uplinks the leaf's nodes are cut off: use a factor above 0, or a fabric of 2 planes");
}

}  // namespace

void check(const ClusterSpec& spec) {
  for (std::size_t i = 0; i < spec.pool_count(); ++i) check_node(spec.node_of_pool(i));
  check_fabric(spec.fabric);
  require(spec.nodes >= 1, "nodes", fmt::format("{} is not a number of nodes", spec.nodes));
  check_pools(spec);
  std::int64_t gpus = 0;
  for (std::size_t i = 0; i < spec.pool_count(); ++i) {
    gpus += std::int64_t{spec.nodes_of_pool(i)} * spec.node_of_pool(i).gpus;
  }
  require(gpus <= kMaxGpus, "nodes", fmt::format("{} GPUs are more than {}", gpus, kMaxGpus));
  check_nics(spec);
  if (spec.thin_link) check_thin_link(spec, *spec.thin_link);
  if (spec.nodes == 1 || one_domain(spec)) return;
  for (std::size_t i = 0; i < spec.pool_count(); ++i) {
    require(spec.node_of_pool(i).nics > 0, "node.nics",
            fmt::format("{} nodes cannot reach each other without NICs", spec.nodes));
  }
  require(spec.fabric.kind != FabricKind::kNone, "fabric.kind",
          fmt::format("{} nodes need a fabric between them", spec.nodes));
  check_no_node_is_cut_off(spec);
}

}  // namespace hw_models
