#include "scenarios/collectives/sweep_cluster.h"

#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "hw_models/cluster_check.h"
#include "scenarios/accuracy/usual_node.h"
#include "scenarios/load/sections.h"

namespace scenarios {
namespace {

using hw_models::ClusterSpec;

struct WordNode {
  std::string_view word, gpu, node;
};

// Words in the network's description that name a cloud's own network, and the instance with that GPU on it.
constexpr std::array<WordNode, 7> kInstances{{{"GPUDirect-TCPX(O)", "h100-sxm-80gb", "a3-megagpu-8g"},
                                              {"TCPXO", "h100-sxm-80gb", "a3-megagpu-8g"},
                                              {"TCPX", "h100-sxm-80gb", "a3-highgpu-8g"},
                                              {"EFA", "h100-sxm-80gb", "p5.48xlarge"},
                                              {"EFA", "h200-sxm", "p5en.48xlarge"},
                                              {"EFA", "b200-sxm", "p6-b200.48xlarge"},
                                              {"EFA", "a100-sxm-40gb", "p4d.24xlarge"}}};

struct RateFabric {
  double gigabits_per_s;  ///< from this rate of a NIC on
  std::string_view infiniband, roce;
};

constexpr std::array<RateFabric, 4> kFabrics{{{600, "infiniband-xdr", "roce-400g"},
                                              {300, "infiniband-ndr", "roce-400g"},
                                              {150, "infiniband-hdr", "roce-200g"},
                                              {0, "infiniband-edr", "roce-100g"}}};

bool says(const MeasuredCollective& row, std::string_view word) {
  return row.interconnect.find(word) != std::string::npos;
}

std::string node_name(const MeasuredCollective& row) {
  for (const WordNode& instance : kInstances) {
    if (instance.gpu == row.gpu && says(row, instance.word)) return std::string(instance.node);
  }
  return usual_node(row.gpu).value_or("");
}

std::size_t number_begin(std::string_view text, std::size_t end) {
  while (end > 0 && text[end - 1] >= '0' && text[end - 1] <= '9') --end;
  return end;
}

double number(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "400G IB", "8x400G RoCE": Gb/s of a NIC; 0 without one. "220 GB/s" is no such rate.
double nic_gigabits(std::string_view text) {
  for (std::size_t at = text.find('G'); at != std::string_view::npos; at = text.find('G', at + 1)) {
    const std::size_t begin = number_begin(text, at);
    const bool word_ends = at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == ')' || text[at + 1] == '/';
    if (begin < at && word_ends) return number(text.substr(begin, at - begin));
  }
  return 0;
}

/// False: nothing said, the node's own network stays.
bool set_network(const MeasuredCollective& row, const Catalog& catalog, ClusterSpec& cluster) {
  hw_models::NodeSpec& node = cluster.node;
  const double rate = nic_gigabits(row.interconnect);
  if (rate > 0) node.nic_bandwidth = hw_models::BytesPerSecond(rate * 1e9 / 8);
  if (says(row, "AINIC")) {
    cluster.fabric = catalog.fabric("ainic-400g").value_or(cluster.fabric);
    return true;
  }
  const bool roce = says(row, "RoCE"), infiniband = says(row, " IB") && !roce;
  if (roce || infiniband) {
    for (const RateFabric& candidate : kFabrics) {
      if (node.nic_bandwidth.value() * 8e-9 < candidate.gigabits_per_s) continue;
      cluster.fabric = catalog.fabric(roce ? candidate.roce : candidate.infiniband).value_or(cluster.fabric);
      break;
    }
  }
  return rate > 0 || roce || infiniband || node_name(row) != usual_node(row.gpu);
}

}  // namespace

std::variant<SweepCluster, std::string> cluster_of(const MeasuredCollective& row, const Catalog& catalog) {
  if (row.nodes > 1 && says(row, "network not stated")) return "network not stated";
  const auto node = catalog.node(node_name(row));
  if (!node) return "GPU not in the catalogue";
  SweepCluster result;
  ClusterSpec& cluster = result.cluster;
  cluster.node = *node;
  cluster.nodes = row.nodes;
  const int per_node = row.gpus / row.nodes;
  if (per_node > node->gpus) {
    // NVL72 racks may be counted as nodes.
    if (node->scale_up != hw_models::ScaleUpKind::kSwitch || per_node > node->scale_up_domain ||
        per_node % node->gpus != 0) {
      return "more GPUs in a node than it holds";
    }
    cluster.nodes = row.gpus / node->gpus;
  }
  cluster.fabric = catalog.fabric(usual_fabric(*node)).value_or(hw_models::FabricSpec{});
  const bool known = set_network(row, catalog, cluster);
  const bool one_domain = cluster.nodes == 1 || row.gpus <= node->scale_up_domain;
  result.usual_network = !known && !one_domain;
  try {
    hw_models::check(cluster);
  } catch (const std::invalid_argument& problem) {
    const std::string_view text = problem.what();
    return "cluster: " + std::string(text.substr(0, text.find(": ")));
  }
  return result;
}

}  // namespace scenarios
