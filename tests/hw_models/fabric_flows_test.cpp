#include "hw_models/fabric_flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "hw_models/network.h"
#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

/// Leaf 0: nodes 0 to 3, leaf 1: nodes 4 to 7, one NIC of 50 GB/s each; two spines, each leaf one cable of 50 GB/s to
/// both: 2:1.
ClusterSpec two_by_two(std::uint64_t seed) {
  ClusterSpec spec = examples::dgx_h100(8);
  spec.node.nics = 1;
  spec.fabric.kind = FabricKind::kFatTree;
  spec.fabric.nodes_per_unit = 4;
  spec.fabric.oversubscription = 2;
  spec.fabric.hash_seed = seed;
  return spec;
}

/// The same switches and planes, four nodes per pod of two units.
ClusterSpec small_pods(std::uint64_t seed) {
  ClusterSpec spec = examples::dgx_h100(8);
  spec.fabric.nodes_per_unit = 2;
  spec.fabric.units_per_pod = 2;
  spec.fabric.hash_seed = seed;
  return spec;
}

/// The hash of the header, written again: a spine of two.
int spine_of(std::uint64_t seed, const FabricFlow& flow) {
  const auto mix = [](std::uint64_t z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  };
  std::uint64_t state = mix(seed);
  for (const int part : {flow.from_nic, flow.to_nic, flow.label, 0, 0}) {
    state = mix(state ^ static_cast<std::uint64_t>(part));
  }
  return static_cast<int>(state % 2);
}

// Node i of leaf 0 sends to node i + 4, all four at once: a flow gets a spine's cable divided by the flows on it.
TEST(FabricFlows, CollisionsCountedByHand) {
  std::map<int, int> seen;  // worst of a seed -> seeds
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    FabricFlows fabric(two_by_two(seed));
    std::vector<FabricFlow> flows;
    int on_spine[2] = {0, 0};
    for (int node = 0; node < 4; ++node) {
      flows.push_back({node, node + 4, 8 * node});
      fabric.add(flows.back());
      ++on_spine[spine_of(seed, flows.back())];
    }
    for (const FabricFlow& flow : flows) {
      const FlowShare share = fabric.share(flow);
      const int expected = on_spine[spine_of(seed, flow)];
      EXPECT_EQ(share.flows, expected);
      EXPECT_DOUBLE_EQ(share.most.value(), 50e9 / expected);
      EXPECT_EQ(share.factor, 1);
    }
    ++seen[std::max(on_spine[0], on_spine[1])];
  }
  EXPECT_EQ(seen.size(), 3U);  // 2 and 2, 3 and 1, all four: 6, 8 and 2 of 16 ways
  EXPECT_GT(seen[3], seen[4]);
}

TEST(FabricFlows, FlowsUnderOneLeafAndOtherDirectionsDoNotCollide) {
  FabricFlows fabric(two_by_two(1));
  const FabricFlow up{0, 4, 0}, down{4, 0, 0}, near{0, 1, 0};
  for (const FabricFlow& flow : {up, down, near}) fabric.add(flow);
  EXPECT_EQ(fabric.share(up).flows, 1);
  EXPECT_EQ(fabric.share(down).flows, 1);
  EXPECT_EQ(fabric.share(near), FlowShare{});
}

// Seed 0 to 63, two flows between the pods: they share a core's cable only if they share the spine.
TEST(FabricFlows, PodsAreCrossedOverOneSpineNumber) {
  int together = 0;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    FabricFlows fabric(small_pods(seed));
    const FabricFlow one{0, 32, 0}, other{8, 40, 8};  // NIC 0 of nodes 0 and 1 to nodes 4 and 5
    fabric.add(one);
    fabric.add(other);
    EXPECT_EQ(fabric.share(one), fabric.share(other));
    EXPECT_DOUBLE_EQ(fabric.share(one).most.value(), 50e9 / fabric.share(one).flows);
    together += fabric.share(one).flows - 1;
  }
  EXPECT_GT(together, 16);  // two spines: half of the seeds
  EXPECT_LT(together, 48);
}

TEST(FabricFlows, PlanesHalveFlowsAndPorts) {
  ClusterSpec spec = two_by_two(3);
  spec.fabric.planes = 2;
  FabricFlows alone(spec);
  alone.add({0, 4, 0});
  EXPECT_DOUBLE_EQ(alone.share({0, 4, 0}).most.value(), 50e9);
  // A leaf of the first plane without uplinks: the other plane carries what its ports can.
  spec.thin_link = ThinLink{ThinLink::At::kLeaf, 1, 0};
  FabricFlows one_plane(spec);
  one_plane.add({0, 4, 0});
  EXPECT_DOUBLE_EQ(one_plane.share({0, 4, 0}).most.value(), 25e9);
  EXPECT_EQ(one_plane.share({0, 4, 0}).factor, 0.5);
}

TEST(FabricFlows, ThinLinksTouchWhoCrossesThem) {
  ClusterSpec spec = two_by_two(0);
  spec.fabric.hash_seed.reset();
  const auto factor = [&](ThinLink thin, FabricFlow flow) {
    spec.thin_link = thin;
    return FabricFlows(spec).share(flow).factor;
  };
  using At = ThinLink::At;
  EXPECT_EQ(factor({At::kLeaf, 1, 0.25}, {0, 4}), 0.25);
  EXPECT_EQ(factor({At::kLeaf, 1, 0.25}, {5, 2}), 0.25);
  EXPECT_EQ(factor({At::kLeaf, 1, 0.25}, {4, 5}), 1);  // under the leaf
  EXPECT_EQ(factor({At::kNode, 5, 0.25}, {4, 5}), 0.25);
  EXPECT_EQ(factor({At::kNode, 5, 0.25}, {4, 6}), 1);
}

using Groups = std::vector<std::vector<int>>;

/// All GPUs in a random order, cut into groups of `size`.
Groups shuffled_groups(int gpus, int size, std::mt19937_64& random) {
  std::vector<int> order(static_cast<std::size_t>(gpus));
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int>(i);
    std::swap(order[i], order[random() % (i + 1)]);
  }
  Groups groups;
  for (auto at = order.begin(); at != order.end(); at += size) groups.emplace_back(at, at + size);
  return groups;
}

TEST(HashedRouting, IsNeverFasterThanBalancedAndEqualWithoutCollisions) {
  std::mt19937_64 random(11);
  int slower = 0, equal = 0;
  for (const auto& make : {two_by_two, small_pods}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      ClusterSpec spec = make(seed);
      spec.fabric.planes = 1 + static_cast<int>(seed % 2);
      const Groups groups = shuffled_groups(64, 2 << (seed % 3), random);
      const Cluster hashed(spec);
      spec.fabric.hash_seed.reset();
      const Cluster balanced(spec);
      const auto got = Network(hashed).layouts(groups), want = Network(balanced).layouts(groups);
      for (std::size_t i = 0; i < groups.size(); ++i) {
        EXPECT_LE(got[i].inter, want[i].inter);
        EXPECT_LE(got[i].inter_per_rank, want[i].inter_per_rank);
        EXPECT_EQ(want[i].flows, 1);
        slower += got[i].inter < want[i].inter ? 1 : 0;
        if (got[i].flows > 1) continue;
        ++equal;
        EXPECT_EQ(got[i], want[i]);
      }
    }
  }
  EXPECT_GT(slower, 100);
  EXPECT_GT(equal, 10);
}

// One rank per node, eight groups of two nodes, each on its own leaf's rail: nobody to collide with.
TEST(HashedRouting, AnOwnLinkForEveryFlowIsBalanced) {
  Groups rails;
  for (int rail = 0; rail < 8; ++rail) rails.push_back({rail, 32 + rail});
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    ClusterSpec spec = small_pods(seed);
    spec.fabric.units_per_pod = 0;
    const Cluster hashed(spec);
    for (const GroupLayout& layout : Network(hashed).layouts(rails)) {
      EXPECT_EQ(layout.inter, BytesPerSecond(50e9));
      EXPECT_EQ(layout.flows, 1);
    }
  }
}

TEST(HashedRouting, TheSameSeedGivesTheSameCollisions) {
  std::mt19937_64 random(5);
  const Groups groups = shuffled_groups(64, 4, random);
  const auto of_seed = [&](std::uint64_t seed) {
    const Cluster cluster(small_pods(seed));
    return Network(cluster).layouts(groups);
  };
  EXPECT_EQ(of_seed(7), of_seed(7));
  EXPECT_NE(of_seed(7), of_seed(8));
}

// Four nodes under leaf 0 send to leaf 1: two on each spine at best, 25 GB/s each, which is what the 2:1 taper leaves a
// message in any case.
TEST(HashedRouting, MessagesThatRunAtOnceCollide) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const Cluster cluster(two_by_two(seed));
    const Network network(cluster);
    std::vector<Message> messages;
    for (int node = 0; node < 4; ++node) messages.push_back({8 * node, 8 * (node + 4)});
    messages.push_back({0, 3});  // NVLink
    messages.push_back({1, 9});  // under the leaf
    const std::vector<FlowShare> shares = network.shares(messages);
    int worst = 0;
    for (int node = 0; node < 4; ++node) worst = std::max(worst, shares[static_cast<std::size_t>(node)].flows);
    EXPECT_GE(worst, 2);
    EXPECT_EQ(shares[4], FlowShare{});
    EXPECT_EQ(shares[5], FlowShare{});
    constexpr std::int64_t kBytes = 10'000'000'000;
    const double alone = network.send(Bytes(kBytes), 0, 32).value();
    for (int node = 0; node < 4; ++node) {
      const FlowShare& share = shares[static_cast<std::size_t>(node)];
      const double time = network.send(Bytes(kBytes), 8 * node, 8 * (node + 4), {1, 1}, share).value();
      EXPECT_NEAR(time / alone, std::max(2, share.flows) / 2.0, 1e-2);
    }
  }
}

TEST(ThinLinks, SlowTheGroupsThatCrossThem) {
  ClusterSpec spec = small_pods(0);
  spec.fabric.hash_seed.reset();
  const Groups groups{{0, 8}, {1, 17}, {2, 34}, {24, 32, 40}};
  const auto rates = [&](std::optional<ThinLink> thin) {
    spec.thin_link = thin;
    const Cluster cluster(spec);
    std::vector<double> found;
    for (const GroupLayout& layout : Network(cluster).layouts(groups)) found.push_back(layout.inter.value() / 1e9);
    return found;
  };
  using V = std::vector<double>;
  EXPECT_EQ(rates(std::nullopt), (V{50, 50, 50, 50}));
  EXPECT_EQ(rates(ThinLink{ThinLink::At::kLeaf, 1, 0.5}), (V{50, 25, 50, 50}));   // rail 1 of the first unit
  EXPECT_EQ(rates(ThinLink{ThinLink::At::kLeaf, 16, 0.5}), (V{50, 50, 50, 25}));  // rail 0 of the third
  EXPECT_EQ(rates(ThinLink{ThinLink::At::kNode, 1, 0.5}), (V{25, 50, 50, 50}));
  EXPECT_EQ(rates(ThinLink{ThinLink::At::kNode, 4, 0.5}), (V{50, 50, 25, 25}));
}

}  // namespace
}  // namespace hw_models
