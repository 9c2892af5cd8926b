#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "hw_models/cluster.h"
#include "hw_models/network.h"
#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

using Groups = std::vector<std::vector<int>>;

std::vector<GroupLayout> layouts(const ClusterSpec& spec, const Groups& groups) {
  const Cluster cluster(spec);
  return Network(cluster).layouts(groups);
}

/// All GPUs cut into `count` groups: group i holds the GPUs i, i + count, ...
Groups strided(int gpus, int count) {
  Groups groups(static_cast<std::size_t>(count));
  for (int gpu = 0; gpu < gpus; ++gpu) groups[static_cast<std::size_t>(gpu % count)].push_back(gpu);
  return groups;
}

/// All GPUs cut into groups of `size` neighbours.
Groups blocks(int gpus, int size) {
  Groups groups(static_cast<std::size_t>(gpus / size));
  for (int gpu = 0; gpu < gpus; ++gpu) groups[static_cast<std::size_t>(gpu / size)].push_back(gpu);
  return groups;
}

ClusterSpec with_faster_nics() {
  ClusterSpec spec = examples::dgx_h100(2);
  spec.node.nic_bandwidth = BytesPerSecond(100e9);
  return spec;
}

ClusterSpec tapered(int nodes) {
  ClusterSpec spec = examples::dgx_h100(nodes);
  spec.fabric.oversubscription = 2;
  return spec;
}

/// Eight V100: pairs at 25 GB/s, 150 GB/s per GPU (taken as a full mesh).
ClusterSpec narrow_mesh() {
  ClusterSpec spec = examples::mi300x(1);
  spec.node.pair_bandwidth = BytesPerSecond(25e9);
  spec.node.scale_up_bandwidth = BytesPerSecond(150e9);
  return spec;
}

struct InterCase {
  const char* what;
  ClusterSpec spec;
  Groups groups;
  double inter_gb_s, inter_per_rank_gb_s;
};

// Hand-solved: NIC bandwidth x NICs owned / groups (ranks) on each.
/// NIC 2 of node 1 is dead: its GPU shares NIC 3 with that one's.
ClusterSpec with_dead_nic() {
  ClusterSpec spec = examples::dgx_h100(2);
  spec.dead_nics = {{1, 2}};
  return spec;
}

std::vector<InterCase> inter_cases() {
  using namespace examples;
  return {
      {"H100, one rank per node, 8 groups at once: its own 400 Gb/s NIC", dgx_h100(2), strided(16, 8), 50, 50},
      {"a dead NIC: two groups share one", with_dead_nic(), {{2, 10}, {3, 11}}, 25, 25},
      {"a dead NIC does not touch the others", with_dead_nic(), {{1, 9}, {4, 12}}, 50, 50},
      {"a dead NIC of a group over both nodes: 7 of 8", with_dead_nic(), blocks(16, 16), 350, 25},
      {"H100, one group over both nodes: all 8 NICs", dgx_h100(2), blocks(16, 16), 400, 50},
      {"H100, 2 groups of 4 per node: 4 NICs each", dgx_h100(2), strided(16, 2), 200, 50},
      {"p4d, 8 groups at once: two groups share 12.5 GB/s", p4d(2), strided(16, 8), 6.25, 6.25},
      {"p4d, one such group alone has its NIC", p4d(2), {{0, 8}}, 12.5, 12.5},
      {"p4d, 4 groups of neighbours 0-1: a NIC each, two ranks on it",
       p4d(2),
       {{0, 1, 8, 9}, {2, 3, 10, 11}},
       12.5,
       6.25},
      {"p4d, groups 0-4 and 1-5: two NICs, both shared", p4d(2), {{0, 4, 8, 12}, {1, 5, 9, 13}}, 12.5, 6.25},
      {"p4d, one group over all: 4 NICs", p4d(2), blocks(16, 16), 50, 6.25},
      {"p5, one rank per node: 4 NICs of 100 Gb/s", p5(2), strided(16, 8), 50, 50},
      {"p5, one group over all: 32 NICs", p5(2), blocks(16, 16), 400, 50},
      {"a NIC faster than the GPU's slot", with_faster_nics(), strided(16, 8), 55, 55},
      {"PCIe box, 8 groups on one 10 Gb/s NIC", pcie_box(2), strided(16, 8), 1.25 / 8, 1.25 / 8},
      {"taper of 2, same unit and rail: under one leaf", tapered(64), {{0, 8}}, 50, 50},
      {"taper of 2, two units", tapered(64), {{0, 256}}, 25, 25},
      {"taper of 2, two rails of one unit", tapered(64), {{0, 9}}, 25, 25},
      {"NVL72, two racks, one rank in each", nvl72(36), strided(144, 72), 50, 50},
      {"NVL72, two racks, one group", nvl72(36), blocks(144, 144), 72 * 50, 50},
      {"shuffled rails: 8 groups at once, a NIC each", shuffled_rails(2), strided(16, 8), 50, 50},
      {"shuffled rails: one group, all NICs", shuffled_rails(2), blocks(16, 16), 400, 50},
      {"half attached: one group uses every NIC from its own socket", half_attached(2), blocks(16, 16), 100, 12.5},
      {"half attached: a far GPU alone, over the link between sockets", half_attached(2), {{4, 12}}, 16, 16},
      {"half attached: two far GPUs of one group share that link", half_attached(2), {{4, 5, 12, 13}}, 16, 8},
      {"half attached: so do two far groups", half_attached(2), {{4, 12}, {5, 13}}, 8, 8},
      {"half attached: a near GPU shares its NIC only", half_attached(2), {{0, 8}}, 24, 24},
      {"uneven: 3 ranks on one node, 1 on the other: the scarcer decides", dgx_h100(2), {{0, 1, 2, 8}}, 50, 50},
  };
}

TEST(GroupLayout, NicSharesByHand) {
  for (const InterCase& c : inter_cases()) {
    for (const GroupLayout& layout : layouts(c.spec, c.groups)) {
      EXPECT_NEAR(layout.inter.value() / 1e9, c.inter_gb_s, 1e-9) << c.what;
      EXPECT_NEAR(layout.inter_per_rank.value() / 1e9, c.inter_per_rank_gb_s, 1e-9) << c.what;
    }
  }
}

struct IntraCase {
  const char* what;
  ClusterSpec spec;
  Groups groups;
  double gb_s;  ///< scale-up links: 0.8 of the nominal rate; PCIe: the payload rate
};

std::vector<IntraCase> intra_cases() {
  using namespace examples;
  const double host_link = 24.0 * 2 / 3;
  return {
      {"NVSwitch: a pair has the whole rate", dgx_h100(1), blocks(8, 2), 0.8 * 450},
      {"NVSwitch: so have all eight", dgx_h100(1), blocks(8, 8), 0.8 * 450},
      {"NVL72: a rack-wide group", nvl72(18), blocks(72, 72), 0.8 * 900},
      {"mesh, pair: 1 of 7 links", mi300x(1), blocks(8, 2), 0.8 * 64},
      {"mesh, 4: 3 of 7 links", mi300x(1), blocks(8, 4), 0.8 * 3 * 64},
      {"mesh, 8: all links", mi300x(1), blocks(8, 8), 0.8 * 7 * 64},
      {"mesh, 8: more links than the GPU feeds", narrow_mesh(), blocks(8, 8), 0.8 * 150},
      {"cube mesh, pair with two links", cube_mesh(1), {{0, 3}}, 0.8 * 50},
      {"cube mesh, pair with one link", cube_mesh(1), {{0, 1}}, 0.8 * 25},
      {"cube mesh, pair over a third GPU", cube_mesh(1), {{0, 5}}, 0.8 * 25},
      {"cube mesh, a board: two rings each way", cube_mesh(1), blocks(8, 4), 0.8 * 100},
      {"cube mesh, half of each board: one ring each way", cube_mesh(1), {{0, 1, 4, 5}}, 0.8 * 50},
      {"cube mesh, three that no ring joins: the chain there and back", cube_mesh(1), {{0, 1, 5}}, 0.8 * 25},
      {"cube mesh, 8: all 6 links of a GPU", cube_mesh(1), blocks(8, 8), 0.8 * 150},
      {"bridge: exactly its pair", bridged_pairs(), blocks(4, 2), 0.8 * 300},
      {"bridge: four fall back to the way through the CPUs", bridged_pairs(), blocks(4, 4), host_link},
      {"PCIe: neighbours under one switch", pcie_box(1), blocks(8, 2), 24},
      {"PCIe: under one socket the slots bound", pcie_box(1), blocks(8, 4), 24},
      {"PCIe: one ring crosses between the sockets once each way", pcie_box(1), blocks(8, 8), host_link},
      {"PCIe: two rings at once", pcie_box(1), strided(8, 2), host_link / 2},
      {"PCIe: four pairs across the sockets", pcie_box(1), strided(8, 4), host_link / 4},
  };
}

TEST(GroupLayout, ScaleUpSharesByHand) {
  for (const IntraCase& c : intra_cases()) {
    for (const GroupLayout& layout : layouts(c.spec, c.groups)) {
      EXPECT_NEAR(layout.intra.value() / 1e9, c.gb_s, 1e-9) << c.what;
      EXPECT_EQ(layout.domains, 1) << c.what;
    }
  }
}

TEST(GroupLayout, CountsMembers) {
  const auto layout = layouts(examples::nvl72(36), {{0, 1, 4, 5, 6, 72, 73}}).front();
  EXPECT_EQ(layout.ranks, 7);
  EXPECT_EQ(layout.domains, 2);
  EXPECT_EQ(layout.nodes, 3);
  EXPECT_EQ(layout.ranks_per_domain, 5);
}

TEST(GroupLayout, OrderOfMembersDoesNotMatter) {
  EXPECT_EQ(layouts(examples::p4d(2), {{12, 0, 8, 4}}), layouts(examples::p4d(2), {{0, 4, 8, 12}}));
}

TEST(GroupLayout, GroupsInsideANodeLeaveTheNicsToOthers) {
  // 0-1 stays inside; 2 and 3 leave through the NIC they share.
  const auto found = layouts(examples::p4d(2), {{0, 1}, {2, 10}, {3, 11}});
  EXPECT_EQ(found[0].inter, BytesPerSecond(0));
  EXPECT_DOUBLE_EQ(found[1].inter.value(), 6.25e9);
  // The neighbour on its NIC stays inside: the whole NIC is left.
  EXPECT_DOUBLE_EQ(layouts(examples::p4d(2), {{1, 2}, {0, 8}})[1].inter.value(), 12.5e9);
}

TEST(GroupLayout, StepLatencyFollowsTheRoute) {
  const ClusterSpec spec = tapered(64);
  const double pcie = 4 * spec.node.pcie_latency.value() + spec.fabric.endpoint_latency.value();
  const double one_switch = spec.fabric.switch_latency.value();
  const auto near = layouts(spec, {{0, 8}}).front();
  const auto far = layouts(spec, {{0, 256}}).front();
  EXPECT_DOUBLE_EQ(near.inter_latency.value(), pcie + one_switch);
  EXPECT_DOUBLE_EQ(far.inter_latency.value(), pcie + 3 * one_switch);
  EXPECT_EQ(layouts(spec, {{0, 1}}).front().intra_latency, spec.node.scale_up_latency);
  // GPU - switch - host - host - switch - GPU
  const ClusterSpec box = examples::pcie_box(1);
  EXPECT_DOUBLE_EQ(layouts(box, {{3, 4}}).front().intra_latency.value(), 5 * box.node.pcie_latency.value());
}

// On shuffled rails GPU 0 is on rail 4, GPU 2 on rail 0: equal numbers meet under one leaf, others do not.
TEST(GroupLayout, RailsAreThoseOfTheNics) {
  ClusterSpec spec = examples::shuffled_rails(64);
  spec.fabric.oversubscription = 2;
  EXPECT_DOUBLE_EQ(layouts(spec, {{0, 8}}).front().inter.value(), 50e9);
  EXPECT_DOUBLE_EQ(layouts(spec, {{0, 10}}).front().inter.value(), 25e9);
}

// Only domains that leave the node are late; the last of 4 is late by H_4 = 25/12 of the mean.
TEST(GroupLayout, LatenessIsThatOfTheLastDomain) {
  ClusterSpec spec = tapered(64);
  EXPECT_EQ(layouts(spec, {{0, 8, 16, 24}}).front().lateness, Seconds(0));
  spec.fabric.jitter = Seconds(12e-6);
  EXPECT_NEAR(layouts(spec, {{0, 1, 8, 9, 16, 24}}).front().lateness.value(), 25e-6, 1e-15);
  EXPECT_EQ(layouts(spec, {{0, 1}}).front().lateness, Seconds(0));
}

TEST(GroupLayout, BadGroupsAreRefused) {
  for (const Groups& groups : {Groups{{}}, Groups{{0, 16}}, Groups{{-1, 0}}, Groups{{3, 5, 3}}}) {
    EXPECT_THROW(layouts(examples::dgx_h100(2), groups), std::invalid_argument);
  }
  EXPECT_TRUE(layouts(examples::dgx_h100(2), {}).empty());
}

/// All GPUs in a random order, cut into groups of random sizes.
Groups random_groups(int gpus, std::mt19937_64& random) {
  std::vector<int> order(static_cast<std::size_t>(gpus));
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int>(i);
    std::swap(order[i], order[random() % (i + 1)]);
  }
  Groups groups{{}};
  for (const int gpu : order) {
    groups.back().push_back(gpu);
    if (random() % 3 == 0) groups.emplace_back();
  }
  if (groups.back().empty()) groups.pop_back();
  return groups;
}

// What all groups get together on a node is no more than the node's NICs have.
TEST(GroupLayout, NoNicIsGivenAwayTwice) {
  std::mt19937_64 random(7);
  for (const ClusterSpec& spec : {examples::dgx_h100(4), examples::p4d(4), examples::p5(3), examples::pcie_box(4)}) {
    const double node_nics = spec.node.nic_bandwidth.value() * spec.node.nics;
    for (int trial = 0; trial < 50; ++trial) {
      const Groups groups = random_groups(spec.nodes * spec.node.gpus, random);
      const auto found = layouts(spec, groups);
      for (int node = 0; node < spec.nodes; ++node) {
        double by_group = 0, by_rank = 0;
        for (std::size_t i = 0; i < groups.size(); ++i) {
          const auto here =
              std::count_if(groups[i].begin(), groups[i].end(), [&](int gpu) { return gpu / spec.node.gpus == node; });
          by_group += here > 0 ? found[i].inter.value() : 0;
          by_rank += static_cast<double>(here) * found[i].inter_per_rank.value();
        }
        EXPECT_LE(by_group, node_nics * (1 + 1e-12));
        EXPECT_LE(by_rank, node_nics * (1 + 1e-12));
      }
    }
  }
}

}  // namespace
}  // namespace hw_models
