// Clusters of several kinds of nodes: how they are counted, and that kinds which do not differ make no difference.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "hw_models/cluster_numbering.h"
#include "hw_models/network.h"
#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

constexpr std::int64_t kBig = 100'000'000;

/// Three nodes of every kind of server, and which sizes of pools leave the domains whole.
std::vector<std::pair<const char*, ClusterSpec>> plain_clusters() {
  using namespace examples;
  ClusterSpec units = dgx_h100(3);
  units.fabric.nodes_per_unit = 1;
  units.fabric.oversubscription = 3;
  ClusterSpec hashed = units;
  hashed.fabric.hash_seed = 7;
  ClusterSpec faulty = p5(3);
  faulty.dead_nics = {{1, 4}, {2, 0}};
  faulty.chosen_nics = {{0, 5}, {17, 9}};
  faulty.thin_link = ThinLink{ThinLink::At::kNode, 2, 0.5};
  return {{"switches", dgx_h100(3)},
          {"shared NICs", p4d(3)},
          {"several NICs", p5(3)},
          {"mesh", mi300x(3)},
          {"PCIe", pcie_box(3)},
          {"links", cube_mesh(3)},
          {"wiring", half_attached(3)},
          {"rails", shuffled_rails(3)},
          {"three leaves a rail", units},
          {"hashed", hashed},
          {"faults", faulty}};
}

ClusterSpec pooled(const ClusterSpec& plain) {
  ClusterSpec mixed = examples::in_pools(plain, {1, 2});
  mixed.dead_nics = plain.dead_nics;
  mixed.chosen_nics = plain.chosen_nics;
  mixed.thin_link = plain.thin_link;
  return mixed;
}

/// All GPUs, the GPUs of equal index of all nodes, neighbours within and across nodes.
std::vector<std::vector<std::vector<int>>> families(const ClusterSpec& spec) {
  const int gpus = spec.gpus(), own = spec.node.gpus;
  std::vector<std::vector<std::vector<int>>> result(4);
  std::vector<int>& all = result[0].emplace_back();
  for (int gpu = 0; gpu < gpus; ++gpu) all.push_back(gpu);
  for (int local = 0; local < own; ++local) result[1].push_back({local, own + local, 2 * own + local});
  for (int gpu = 0; gpu + 1 < gpus; gpu += 2) result[2].push_back({gpu, gpu + 1});
  for (int gpu = 0; gpu + 4 < gpus; gpu += 5) result[3].push_back({gpu, gpu + 1, gpu + 4});
  return result;
}

TEST(MixedCluster, GraphOfPoolsOfOneKindIsThePlainOne) {
  for (const auto& [what, spec] : plain_clusters()) {
    SCOPED_TRACE(what);
    const Cluster plain(spec), mixed(pooled(spec));
    ASSERT_EQ(mixed.devices(), plain.devices());
    ASSERT_EQ(mixed.links(), plain.links());
    ASSERT_EQ(mixed.gpus(), plain.gpus());
    for (std::uint32_t i = 0; i < plain.devices(); ++i) {
      EXPECT_EQ(mixed.name(DeviceId{i}), plain.name(DeviceId{i}));
      EXPECT_EQ(mixed.kind(DeviceId{i}), plain.kind(DeviceId{i}));
    }
    for (std::uint32_t i = 0; i < plain.links(); ++i) {
      const Link &a = mixed.link({i}), &b = plain.link({i});
      EXPECT_TRUE(a.a == b.a && a.b == b.b && a.kind == b.kind && a.latency == b.latency);
      EXPECT_NEAR(a.bandwidth / b.bandwidth, 1, 1e-12);
    }
    for (int from = 0; from < plain.gpus(); ++from) {
      EXPECT_EQ(mixed.node_of(from), plain.node_of(from));
      EXPECT_EQ(mixed.domain_of(from), plain.domain_of(from));
      EXPECT_EQ(mixed.nic_of(from), plain.nic_of(from));
      for (int to = 0; to < plain.gpus(); ++to) EXPECT_EQ(mixed.route(from, to), plain.route(from, to));
    }
  }
}

TEST(MixedCluster, TimesOfPoolsOfOneKindAreThePlainOnes) {
  for (const auto& [what, spec] : plain_clusters()) {
    SCOPED_TRACE(what);
    const Cluster plain(spec), mixed(pooled(spec));
    const Network plain_network(plain), mixed_network(mixed);
    for (const auto& groups : families(spec)) {
      const auto expected = plain_network.layouts(groups), found = mixed_network.layouts(groups);
      for (std::size_t i = 0; i < groups.size(); ++i) {
        for (const Operation operation : {Operation::kAllReduce, Operation::kAllToAll}) {
          EXPECT_EQ(mixed_network.collective(operation, Bytes(kBig), found[i]).time,
                    plain_network.collective(operation, Bytes(kBig), expected[i]).time);
        }
      }
    }
    for (const auto& [from, to] : {std::pair{0, 1}, {0, plain.gpus() - 1}, {plain.gpus() - 1, 2}}) {
      EXPECT_EQ(mixed_network.send(Bytes(kBig), from, to), plain_network.send(Bytes(kBig), from, to));
    }
  }
}

TEST(MixedCluster, CountsPoolByPool) {
  ClusterSpec spec = examples::h100_and_a100(2, 1);
  NodeSpec small = examples::nvl72(1).node;
  small.scale_up_domain = 8;
  spec.pools.push_back({small, {}, 3});
  spec = mixed_cluster(spec.pools, spec.fabric);
  EXPECT_EQ(spec.nodes, 6);
  EXPECT_EQ(spec.gpus(), 3 * 8 + 3 * 4);
  EXPECT_EQ(gpus_of_every_node(spec), std::nullopt);
  EXPECT_EQ(gpus_of_every_node(examples::h100_and_a100(2, 1)), 8);
  const Cluster cluster(spec);
  const std::vector<int> first_gpu{0, 8, 16, 24, 28, 32}, nics{8, 8, 4, 4, 4, 4}, domain{0, 1, 2, 3, 3, 4};
  for (int node = 0; node < spec.nodes; ++node) {
    const auto i = static_cast<std::size_t>(node);
    const int gpu = spec.first_gpu(node);
    EXPECT_EQ(gpu, first_gpu[i]);
    EXPECT_EQ(spec.node_at(node).nics, nics[i]);
    EXPECT_EQ(cluster.node_of(gpu), node);
    EXPECT_EQ(cluster.local_of(gpu + 3), 3);
    EXPECT_EQ(cluster.domain_of(gpu), domain[i]);
    EXPECT_EQ(cluster.nic_of(gpu), 8 * node);
    EXPECT_EQ(cluster.name(cluster.gpu(gpu + 1)), "node" + std::to_string(node) + "/gpu1");
  }
  EXPECT_EQ(cluster.pool_of(23), 1);
  EXPECT_EQ(cluster.pool_of(24), 2);
}

TEST(MixedCluster, AMessageRunsAtItsSlowerEnd) {
  const Cluster cluster(examples::h100_and_a100(2, 2)), fast(examples::dgx_h100(2));
  const Network network(cluster);
  const auto rate = [](const Network& on, int from, int to) {  // of what is added to a large message
    return static_cast<double>(kBig) / (on.send(Bytes(2 * kBig), from, to) - on.send(Bytes(kBig), from, to)).value();
  };
  EXPECT_NEAR(rate(network, 0, 8), rate(Network(fast), 0, 8), 1e-6 * 50e9);
  for (const auto& [from, to] : {std::pair{0, 16}, {16, 0}, {16, 24}}) {
    EXPECT_NEAR(rate(network, from, to), 12.5e9, 0.01 * 12.5e9) << from << " -> " << to;
  }
  // Two messages into the slow NIC are twice as slow, two out of the fast one are not.
  const auto shared = [&](NicSharers sharers) { return network.send(Bytes(kBig), 0, 16, sharers, {}).value(); };
  EXPECT_EQ(shared({2, 1}), shared({1, 1}));
  EXPECT_NEAR(shared({1, 2}) / shared({1, 1}), 2, 0.05);
}

TEST(MixedCluster, AGroupHasTheRatesOfItsSlowestDomain) {
  const Cluster cluster(examples::h100_and_a100(1, 1));
  std::vector<std::vector<int>> world(1);
  for (int gpu = 0; gpu < 16; ++gpu) world[0].push_back(gpu);
  const GroupLayout layout = Network(cluster).layouts(world).front();
  ASSERT_EQ(layout.pools.size(), 2U);
  const auto gigabytes = [](BytesPerSecond rate) { return rate.value() / 1e9; };
  EXPECT_NEAR(gigabytes(layout.inter), 4 * 12.5, 1e-9);
  EXPECT_NEAR(gigabytes(layout.pools[0].inter), 8 * 50, 1e-9);
  EXPECT_NEAR(gigabytes(layout.pools[1].inter), 4 * 12.5, 1e-9);
  EXPECT_NEAR(layout.pools[0].intra / layout.pools[1].intra, 1.5, 1e-12);
  EXPECT_EQ(layout.intra, layout.pools[1].intra);
  // One rail of the fast nodes against the slow NICs that two GPUs share.
  const Cluster four(examples::h100_and_a100(2, 2));
  const std::vector<std::vector<int>> fast{{0, 8}}, slow{{16, 24}}, both{{0, 16}};
  EXPECT_EQ(gigabytes(Network(four).layouts(fast).front().inter), 50);
  EXPECT_EQ(gigabytes(Network(four).layouts(slow).front().inter), 12.5);
  EXPECT_EQ(gigabytes(Network(four).layouts(both).front().inter), 12.5);
}

TEST(MixedCluster, ChecksItsPools) {
  ClusterSpec wrong = examples::h100_and_a100(1, 1);
  wrong.nodes = 3;
  EXPECT_THROW(Cluster{wrong}, std::invalid_argument);
  wrong = examples::h100_and_a100(1, 0);
  EXPECT_THROW(Cluster{wrong}, std::invalid_argument);
  wrong = examples::h100_and_a100(1, 1);
  wrong.pools[1].node.nics = 0;
  EXPECT_THROW(Cluster{wrong}, std::invalid_argument);
  ClusterSpec dead = examples::h100_and_a100(1, 1);
  dead.dead_nics = {{1, 4}};  // an A100 node has four
  EXPECT_THROW(Cluster{dead}, std::invalid_argument);
}

}  // namespace
}  // namespace hw_models
