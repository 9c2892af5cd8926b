#include "tests/programs/cluster_examples.h"

#include <array>

namespace hw_models::examples {
namespace {

BytesPerSecond gigabytes(double value) { return BytesPerSecond(value * kGigabyte); }
Seconds microseconds(double value) { return Seconds(value * kMicrosecond); }

NodeSpec switched(int gpus, int domain, double scale_up, int nics, double nic, double pcie) {
  NodeSpec node;
  node.gpus = gpus;
  node.scale_up = ScaleUpKind::kSwitch;
  node.scale_up_domain = domain;
  node.scale_up_bandwidth = node.pair_bandwidth = gigabytes(scale_up);
  node.scale_up_latency = microseconds(0.6);
  node.nics = nics;
  node.nic_bandwidth = gigabytes(nic);
  node.pcie_bandwidth = gigabytes(pcie);
  node.pcie_latency = microseconds(0.25);
  return node;
}

FabricSpec fabric(FabricKind kind, int nodes_per_unit, double endpoint_us) {
  FabricSpec fabric;
  fabric.kind = kind;
  fabric.nodes_per_unit = nodes_per_unit;
  fabric.efficiency = 1;
  fabric.switch_latency = microseconds(0.25);
  fabric.endpoint_latency = microseconds(endpoint_us);
  return fabric;
}

}  // namespace

ClusterSpec dgx_h100(int nodes) {
  return {switched(8, 8, 450, 8, 50, 55), nodes, fabric(FabricKind::kRailOptimized, 32, 2)};
}

ClusterSpec p4d(int nodes) {
  ClusterSpec spec{switched(8, 8, 300, 4, 12.5, 24), nodes, fabric(FabricKind::kFatTree, 16, 15)};
  spec.node.gpus_per_pcie_switch = 2;
  return spec;
}

ClusterSpec p5(int nodes) {
  return {switched(8, 8, 450, 32, 12.5, 55), nodes, fabric(FabricKind::kRailOptimized, 32, 15)};
}

ClusterSpec p6_b200(int nodes) {
  ClusterSpec spec{switched(8, 8, 900, 8, 50, 55), nodes, fabric(FabricKind::kFatTree, 32, 15)};
  spec.fabric.efficiency = 0.9;
  return spec;
}

ClusterSpec nvl72(int nodes) {
  return {switched(4, 72, 900, 4, 50, 55), nodes, fabric(FabricKind::kRailOptimized, 18, 2)};
}

ClusterSpec mi300x(int nodes) {
  ClusterSpec spec{switched(8, 8, 448, 8, 50, 55), nodes, fabric(FabricKind::kRailOptimized, 32, 2)};
  spec.node.scale_up = ScaleUpKind::kMesh;
  spec.node.pair_bandwidth = gigabytes(64);
  return spec;
}

ClusterSpec pcie_box(int nodes) {
  ClusterSpec spec{switched(8, 8, 0, 1, 1.25, 24), nodes, fabric(FabricKind::kFatTree, 32, 20)};
  spec.node.scale_up = ScaleUpKind::kNone;
  spec.node.gpus_per_pcie_switch = 2;
  return spec;
}

ClusterSpec bridged_pairs() {
  ClusterSpec spec{switched(4, 2, 300, 0, 0, 24), 1, fabric(FabricKind::kNone, 1, 0)};
  spec.node.scale_up = ScaleUpKind::kPairs;
  return spec;
}

ClusterSpec cube_mesh(int nodes) {
  ClusterSpec spec{switched(8, 8, 150, 4, 12.5, 12), nodes, fabric(FabricKind::kRailOptimized, 32, 2)};
  spec.node.scale_up = ScaleUpKind::kLinks;
  for (const int board : {0, 4}) {
    for (const auto& [a, b, lanes] : {std::array{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2}}) {
      spec.node.links.push_back({board + a, board + b, gigabytes(25.0 * lanes)});
    }
  }
  for (const auto& [a, lanes] : {std::array{0, 2}, {1, 2}, {2, 1}, {3, 1}}) {
    spec.node.links.push_back({a, a + 4, gigabytes(25.0 * lanes)});
  }
  return spec;
}

ClusterSpec shuffled_rails(int nodes) {
  ClusterSpec spec = dgx_h100(nodes);
  spec.node.wiring = PcieWiring{{0, 1, 2, 3, 4, 5, 6, 7},
                                {2, 1, 7, 3, 0, 6, 4, 5},
                                {0, 0, 0, 0, 1, 1, 1, 1},
                                {{4}, {1}, {0}, {3}, {6}, {7}, {5}, {2}}};
  return spec;
}

ClusterSpec half_attached(int nodes) {
  ClusterSpec spec{switched(8, 8, 300, 4, 25, 24), nodes, fabric(FabricKind::kFatTree, 32, 2)};
  spec.node.wiring = PcieWiring{
      {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3}, {0, 0, 0, 0, 1, 1, 1, 1}, {{0}, {1}, {2}, {3}, {0}, {1}, {2}, {3}}};
  return spec;
}

ClusterSpec in_pools(const ClusterSpec& plain, const std::vector<int>& sizes) {
  std::vector<NodePool> pools;
  for (const int nodes : sizes) pools.push_back({plain.node, {}, nodes});
  return mixed_cluster(pools, plain.fabric);
}

ClusterSpec h100_and_a100(int h100_nodes, int a100_nodes) {
  const ClusterSpec fast = dgx_h100(1);
  return mixed_cluster({{fast.node, {}, h100_nodes}, {p4d(1).node, {}, a100_nodes}}, fast.fabric);
}

}  // namespace hw_models::examples
