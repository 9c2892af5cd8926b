#include "hw_models/fabric_shape.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "hw_models/network.h"
#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

/// H100 nodes: two per unit, two units per pod, each tier 2:1 - 400, 200, 100 Gb/s per NIC.
ClusterSpec three_tiers(int nodes) {
  ClusterSpec spec = examples::dgx_h100(nodes);
  spec.fabric.nodes_per_unit = 2;
  spec.fabric.units_per_pod = 2;
  spec.fabric.oversubscription = spec.fabric.spine_oversubscription = 2;
  return spec;
}

/// 4 nodes of one 400 Gb/s NIC under each of two leaves, 2:1.
ClusterSpec two_by_two() {
  ClusterSpec spec = examples::dgx_h100(8);
  spec.node.nics = 1;
  spec.fabric.kind = FabricKind::kFatTree;
  spec.fabric.nodes_per_unit = 4;
  spec.fabric.oversubscription = 2;
  return spec;
}

/// 24,576 GPUs of Llama 3 (Grattafiori et al. 2024, section 3.3.1): racks of two servers under one switch, pods of 192
/// racks without oversubscription, eight pods at 1:7.
ClusterSpec llama3() {
  ClusterSpec spec = examples::dgx_h100(3072);
  spec.fabric.kind = FabricKind::kFatTree;
  spec.fabric.nodes_per_unit = 2;
  spec.fabric.units_per_pod = 192;
  spec.fabric.spine_oversubscription = 7;
  return spec;
}

/// Rail-optimised, two planes, uplinks of 400 Gb/s above ports of 200 Gb/s (SIGCOMM 2024, Alibaba HPN), two segments.
ClusterSpec two_planes() {
  ClusterSpec spec = examples::dgx_h100(256);
  spec.fabric.nodes_per_unit = 128;
  spec.fabric.oversubscription = 128.0 / 120;
  spec.fabric.planes = 2;
  spec.fabric.uplinks = 60;
  return spec;
}

TEST(FabricShape, SwitchesAndCablesByHand) {
  const FabricShape small = fabric_shape(two_by_two());
  EXPECT_EQ(std::tuple(small.leaves, small.pods, small.downlinks, small.uplinks, small.spines_per_pod, small.cores),
            std::tuple(2, 1, 4, 2, 2, 0));
  EXPECT_DOUBLE_EQ(small.leaf_cable.value(), 50e9);

  const FabricShape rails = fabric_shape(three_tiers(16));  // 8 units of 8 leaves, 4 pods
  EXPECT_EQ(std::tuple(rails.leaves, rails.pods, rails.downlinks, rails.uplinks), std::tuple(64, 4, 2, 1));
  EXPECT_EQ(std::tuple(rails.leaves_per_pod, rails.spine_uplinks, rails.cores), std::tuple(16, 8, 8));
  EXPECT_DOUBLE_EQ(rails.spine_cable.value(), 50e9);

  const FabricShape meta = fabric_shape(llama3());
  EXPECT_EQ(std::tuple(meta.leaves, meta.pods, meta.downlinks, meta.uplinks), std::tuple(1536, 8, 16, 16));
  EXPECT_EQ(meta.spine_uplinks, 27);  // 192 / 7 = 27.4
  EXPECT_DOUBLE_EQ(meta.spine_cable.value(), 50e9 * 192 / 7 / 27);

  const FabricShape hpn = fabric_shape(two_planes());
  EXPECT_EQ(std::tuple(hpn.planes, hpn.leaves, hpn.uplinks, hpn.spines_per_pod), std::tuple(2, 16, 60, 60));
  EXPECT_DOUBLE_EQ(hpn.leaf_cable.value(), 50e9);  // 128 ports of 25 GB/s at 128:120 on 60 cables
}

TEST(FabricShape, OneLeafHasNoUplinks) {
  const FabricShape alone = fabric_shape(examples::p4d(4));
  EXPECT_EQ(std::tuple(alone.leaves, alone.pods, alone.uplinks, alone.cores), std::tuple(1, 0, 0, 0));
  EXPECT_EQ(fabric_shape(examples::bridged_pairs()).leaves, 0);
}

TEST(FabricShape, TiersAndTheirTapers) {
  const FabricSpec fabric = three_tiers(16).fabric;
  const int expected[] = {kLeafTier, kLeafTier, kSpineTier, kSpineTier, kCoreTier, kCoreTier};
  for (int node = 0; node < 6; ++node) EXPECT_EQ(fabric_tier(fabric, 0, node), expected[node]) << node;
  EXPECT_EQ(fabric_tier(fabric, 3, 4), kCoreTier);  // neighbours, but of two pods
  EXPECT_EQ(fabric_tier(two_by_two().fabric, 0, 7), kSpineTier);
  for (const auto& [tier, divisor] : {std::pair{kLeafTier, 1.0}, {kSpineTier, 2.0}, {kCoreTier, 4.0}}) {
    EXPECT_EQ(taper(fabric, tier), divisor);
    EXPECT_EQ(switches_crossed(tier), 1 + 2 * tier);
  }
}

struct Crossing {
  int gpu;  ///< from GPU 0
  int tier;
  double gb_s;
};

// Places differ in GPU, node, unit and pod in every combination: what counts is the highest tier, never the first
// difference (a message to another GPU of another node at NVLink's price).
std::vector<Crossing> crossings() {
  std::vector<Crossing> all;
  for (const int local : {0, 3}) {
    all.push_back({8 + local, kLeafTier, 50});
    for (const int node : {2, 3}) all.push_back({8 * node + local, kSpineTier, 25});
    for (const int node : {4, 5, 7}) all.push_back({8 * node + local, kCoreTier, 12.5});
  }
  return all;
}

TEST(FabricTiers, AMessagePaysForEveryTierItCrosses) {
  const Cluster cluster(three_tiers(8));
  const Network network(cluster);
  constexpr std::int64_t kBytes = 1'000'000'000;
  const double nvlink = network.send(Bytes(kBytes), 0, 3).value();
  for (const Crossing& c : crossings()) {
    const double time = network.send(Bytes(kBytes), 0, c.gpu).value();
    EXPECT_GT(time, 2 * nvlink) << c.gpu;
    EXPECT_NEAR(time, kBytes / (c.gb_s * 1e9), 1e-2 * time) << c.gpu;
  }
  const auto latency = [&](int gpu) { return network.send(Bytes(8), 0, gpu).value(); };
  EXPECT_GT(latency(16), latency(8));  // two more switches each
  EXPECT_NEAR(latency(32) - latency(16), latency(16) - latency(8), 1e-8);
}

TEST(FabricTiers, AGroupPaysForItsHighestTier) {
  const Cluster cluster(three_tiers(8));
  const Network network(cluster);
  const double one_switch = cluster.spec().fabric.switch_latency.value();
  const double near = network.layouts(std::vector<std::vector<int>>{{0, 8}}).front().inter_latency.value();
  for (const Crossing& c : crossings()) {
    // GPU 1 keeps the first difference inside the node.
    const GroupLayout layout = network.layouts(std::vector<std::vector<int>>{{0, 1, c.gpu, c.gpu + 1}}).front();
    const bool other_rail = c.tier == kLeafTier && c.gpu % 8 != 0;  // over a spine as well
    EXPECT_DOUBLE_EQ(layout.inter.value(), 2e9 * (other_rail ? 25 : c.gb_s)) << c.gpu;
    EXPECT_NEAR(layout.inter_latency.value(), near + 2 * one_switch * (other_rail ? kSpineTier : c.tier), 1e-12);
  }
}

}  // namespace
}  // namespace hw_models
