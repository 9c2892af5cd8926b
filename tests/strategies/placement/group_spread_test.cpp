#include "strategies/placement/group_spread.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/programs/cluster_examples.h"

namespace strategies {
namespace {

using hw_models::ClusterSpec;

/// tp x dp x pp in the order given, one collective per family and messages between stages.
Program job(const std::vector<Dimension>& dimensions) {
  Program program;
  const Mesh mesh{dimensions};
  program.views = {mesh};
  program.groups = {{"tensor", 0, {{mesh.find("tp"), {}}}}, {"data", 0, {{mesh.find("dp"), {}}}}};
  program.role_of_rank.assign(static_cast<std::size_t>(mesh.size()), 0);
  Block block;
  for (const std::uint32_t group : {0U, 1U}) {
    Collective collective;
    collective.group = {group};
    block.operations.emplace_back().work = collective;
  }
  block.operations.emplace_back().work = Send{1, hw_models::Bytes(1)};
  program.roles.emplace_back().blocks = {block};
  return program;
}

ClusterSpec fat_tree(int nodes) {
  ClusterSpec spec = hw_models::examples::dgx_h100(nodes);
  spec.fabric.kind = hw_models::FabricKind::kFatTree;
  return spec;
}

ClusterSpec with_dead_nic() {
  ClusterSpec spec = hw_models::examples::dgx_h100(2);
  spec.dead_nics = {{1, 2}};
  return spec;
}

ClusterSpec small_units() {
  ClusterSpec spec = hw_models::examples::dgx_h100(4);
  spec.fabric.nodes_per_unit = 2;
  return spec;
}

struct Case {
  const char* what;
  ClusterSpec cluster;
  std::vector<Dimension> order;
  std::string_view rule;
  FamilySpread expected;
};

// Members: name, groups, ranks; hosts, domains, ranks per host, rails; leave domain, leave unit, mis-railed.
std::vector<Case> cases() {
  using hw_models::examples::dgx_h100;
  const std::vector<Dimension> two_per_node{{"tp", 4}, {"dp", 4}, {"pp", 2}};
  const std::vector<Dimension> outer_tensor{{"dp", 4}, {"tp", 4}, {"pp", 1}};
  const std::vector<Dimension> uneven{{"tp", 2}, {"dp", 3}, {"pp", 4}};
  return {
      {"inside a node", dgx_h100(4), two_per_node, "packed", {"tensor", 8, 4, {1, 1}, {1, 1}, {4, 4}, {4, 4}, 0, 0, 0}},
      {"two replicas a node",
       dgx_h100(4),
       two_per_node,
       "packed",
       {"data", 8, 4, {2, 2}, {2, 2}, {2, 2}, {2, 2}, 8, 0, 0}},
      {"one replica a node",
       dgx_h100(4),
       two_per_node,
       "rail",
       {"data", 8, 4, {4, 4}, {4, 4}, {1, 1}, {1, 1}, 8, 0, 0}},
      {"stages in two nodes",
       dgx_h100(4),
       two_per_node,
       "packed",
       {"pipeline", 16, 2, {2, 2}, {2, 2}, {1, 1}, {1, 1}, 16, 0, 0}},
      {"stages in one node",
       dgx_h100(4),
       two_per_node,
       "rail",
       {"pipeline", 16, 2, {1, 1}, {1, 1}, {2, 2}, {2, 2}, 0, 0, 0}},
      {"units of two nodes",
       small_units(),
       two_per_node,
       "packed",
       {"pipeline", 16, 2, {2, 2}, {2, 2}, {1, 1}, {1, 1}, 16, 16, 0}},
      // Tensor group t holds ranks t, t + 4, t + 8, t + 12: two of them on each of two nodes.
      {"tensor over nodes",
       dgx_h100(2),
       outer_tensor,
       "packed",
       {"tensor", 4, 4, {2, 2}, {2, 2}, {2, 2}, {2, 2}, 4, 0, 0}},
      {"and brought back",
       dgx_h100(2),
       outer_tensor,
       "rail",
       {"tensor", 4, 4, {1, 1}, {1, 1}, {4, 4}, {4, 4}, 0, 0, 0}},
      // Stage 1 holds ranks 6 to 11: its data groups 6, 8, 10 and 7, 9, 11 sit on device 6 or 7 of node 0 and two of
      // node 1; stage 2 on 12, 14 | 16 and 13, 15 | 17. Only stages 0 and 3 stay on one node.
      {"mis-railed", dgx_h100(3), uneven, "packed", {"data", 8, 3, {1, 2}, {1, 2}, {1, 3}, {3, 3}, 4, 0, 4}},
      {"without rails nothing is",
       fat_tree(3),
       uneven,
       "packed",
       {"data", 8, 3, {1, 2}, {1, 2}, {1, 3}, {3, 3}, 4, 0, 0}},
      // Devices 0 and 1 hold stage 0 of replica r on node r, devices 6 and 7 its stage 3.
      {"railed", dgx_h100(3), uneven, "rail", {"data", 8, 3, {3, 3}, {3, 3}, {1, 1}, {1, 1}, 8, 0, 0}},
      // Stage i to i + 1 is 6 ranks on: the device changes with every stage, the node with most.
      {"messages between rails",
       dgx_h100(3),
       uneven,
       "packed",
       {"pipeline", 6, 4, {3, 3}, {3, 3}, {1, 2}, {4, 4}, 6, 0, 6}},
      // NIC 2 of node 1 is NIC 3 now.
      {"a dead NIC moves a group off its rail",
       with_dead_nic(),
       {{"tp", 8}, {"dp", 2}, {"pp", 1}},
       "packed",
       {"data", 8, 2, {2, 2}, {2, 2}, {1, 1}, {1, 2}, 8, 0, 1}},
      {"NVLink over 18 nodes",
       hw_models::examples::nvl72(18),
       {{"tp", 8}, {"dp", 9}, {"pp", 1}},
       "packed",
       {"tensor", 9, 8, {2, 2}, {1, 1}, {4, 4}, {4, 4}, 0, 0, 0}},
  };
}

TEST(GroupSpread, ByHand) {
  for (const Case& c : cases()) {
    const hw_models::Cluster cluster(c.cluster);
    const Program program = job(c.order);
    const PlacementChoice choice{.rule = std::string(c.rule), .seats = {}};
    const Placement placement = place(program, choice, c.cluster.node.gpus);
    bool found = false;
    for (const FamilySpread& spread : spread_families(program, placement, cluster)) {
      if (spread.name != c.expected.name) continue;
      found = true;
      EXPECT_EQ(spread.groups, c.expected.groups) << c.what;
      EXPECT_EQ(spread.ranks, c.expected.ranks) << c.what;
      EXPECT_TRUE(spread.hosts == c.expected.hosts && spread.domains == c.expected.domains) << c.what;
      EXPECT_TRUE(spread.ranks_per_host == c.expected.ranks_per_host) << c.what;
      EXPECT_TRUE(spread.rails == c.expected.rails) << c.what << ": " << spread.rails.least << " " << spread.rails.most;
      EXPECT_EQ(spread.across_domains, c.expected.across_domains) << c.what;
      EXPECT_EQ(spread.across_units, c.expected.across_units) << c.what;
      EXPECT_EQ(spread.misrailed, c.expected.misrailed) << c.what;
    }
    EXPECT_TRUE(found) << c.what;
  }
}

TEST(GroupSpread, OnlyFamiliesThatCommunicate) {
  Program program = job({{"tp", 1}, {"dp", 4}, {"pp", 2}});
  program.roles[0].blocks[0].operations.pop_back();  // no messages
  const hw_models::Cluster cluster(hw_models::examples::dgx_h100(1));
  const auto families = spread_families(program, packed(program), cluster);
  ASSERT_EQ(families.size(), 1U);  // tensor groups of one rank do not count
  EXPECT_EQ(families[0].name, "data");
}

}  // namespace
}  // namespace strategies
