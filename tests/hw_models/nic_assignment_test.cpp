#include "hw_models/nic_assignment.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

std::vector<std::vector<int>> nics(const ClusterSpec& spec) {
  const ClusterNumbering number(spec);
  const NicAssignment assignment(spec, number);
  std::vector<std::vector<int>> result;
  for (int gpu = 0; gpu < spec.nodes * spec.node.gpus; ++gpu) {
    std::vector<int>& own = result.emplace_back();
    const NicSet set = assignment.of(gpu);
    for (int i = 0; i < set.size(); ++i) own.push_back(set[i]);
  }
  return result;
}

struct Case {
  const char* what;
  ClusterSpec spec;
  std::vector<DeadNic> dead;
  std::map<int, int> chosen;
  std::map<int, std::vector<int>> changed;  ///< by GPU; all others keep their NICs
};

std::vector<Case> cases() {
  using namespace examples;
  return {
      {"nothing", dgx_h100(2), {}, {}, {}},
      {"the next on the same CPU", dgx_h100(2), {{1, 2}}, {}, {{10, {3}}}},
      {"the CPU's last one: its first", dgx_h100(2), {{0, 3}}, {}, {{3, {0}}}},
      {"two neighbours", dgx_h100(2), {{0, 1}, {0, 2}}, {}, {{1, {3}}, {2, {3}}}},
      {"all of a CPU: the other CPU's",
       dgx_h100(2),
       {{0, 0}, {0, 1}, {0, 2}, {0, 3}},
       {},
       {{0, {4}}, {1, {4}}, {2, {4}}, {3, {4}}}},
      {"two GPUs lose their one NIC", p4d(2), {{1, 0}}, {}, {{8, {1}}, {9, {1}}}},
      {"one of four NICs of a GPU", p5(2), {{0, 5}}, {}, {{1, {4, 6, 7}}}},
      {"all four: the next GPU's first", p5(2), {{0, 4}, {0, 5}, {0, 6}, {0, 7}}, {}, {{1, {8}}}},
      {"chosen", dgx_h100(2), {}, {{0, 7}, {15, 0}}, {{0, {7}}, {15, {0}}}},
      {"chosen and dead: near the GPU, after the chosen", dgx_h100(2), {{0, 1}}, {{0, 1}}, {{0, {0}}, {1, {2}}}},
      {"other nodes' NICs are others", dgx_h100(2), {{1, 1}}, {{1, 1}}, {{1, {1}}, {9, {2}}}},
  };
}

TEST(NicAssignment, ByHand) {
  for (const Case& c : cases()) {
    ClusterSpec spec = c.spec;
    std::vector<std::vector<int>> expected = nics(spec);
    for (const auto& [gpu, own] : c.changed) expected[static_cast<std::size_t>(gpu)] = own;
    spec.dead_nics = c.dead;
    spec.chosen_nics = c.chosen;
    EXPECT_EQ(nics(spec), expected) << c.what;
  }
}

// A single node needs no NIC: it may lose them all.
TEST(NicAssignment, WithoutALivingOneNothingChanges) {
  ClusterSpec spec = examples::pcie_box(1);
  const std::vector<std::vector<int>> before = nics(spec);
  spec.dead_nics = {{0, 0}};
  EXPECT_EQ(nics(spec), before);
  EXPECT_NO_THROW(Cluster{spec});
}

TEST(NicAssignment, MessagesLeaveByIt) {
  ClusterSpec spec = examples::dgx_h100(2);
  spec.dead_nics = {{1, 2}};
  const Cluster cluster(spec);
  EXPECT_EQ(cluster.nic_of(10), 8 + 3);
  for (const auto& [from, to] : std::vector<std::pair<int, int>>{{2, 10}, {10, 2}, {10, 11}}) {
    for (const LinkId id : cluster.route(from, to)) {
      EXPECT_NE(cluster.name(cluster.link(id).a), "node1/nic2");
      EXPECT_NE(cluster.name(cluster.link(id).b), "node1/nic2");
    }
  }
}

}  // namespace
}  // namespace hw_models
