#include "strategies/placement/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/programs/cluster_examples.h"

namespace strategies {
namespace {

Program eight_ranks() {
  Program program;
  program.views = {Mesh{{{"tp", 2}, {"dp", 2}, {"pp", 2}}}};
  program.groups = {Group{"tp", 0, {{0, {}}}}, Group{"dp", 0, {{1, {}}}}, Group{"ends", 0, {{1, {0}}, {2, {0, 1}}}}};
  program.role_of_rank.assign(8, 0);
  return program;
}

using Groups = std::vector<std::vector<int>>;

TEST(Placement, ConsecutiveRanksOnConsecutiveGpus) {
  EXPECT_EQ(packed(eight_ranks()).gpu, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Placement, GroupsInOrderOfTheirLowestRank) {
  const Program program = eight_ranks();
  const Placement placement = packed(program);
  EXPECT_EQ(placed_groups(program, GroupId{0}, placement), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(placed_groups(program, GroupId{1}, placement), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
}

TEST(Placement, RanksOutsideTheFamilyAreLeftOut) {
  const Program program = eight_ranks();
  EXPECT_EQ(placed_groups(program, GroupId{2}, packed(program)), (Groups{{0, 4}, {1, 5}}));
}

TEST(Placement, GroupsNameGpusNotRanks) {
  const Program program = eight_ranks();
  const Placement reversed{{7, 6, 5, 4, 3, 2, 1, 0}};
  EXPECT_EQ(placed_groups(program, GroupId{0}, reversed), (Groups{{7, 6}, {5, 4}, {3, 2}, {1, 0}}));
}

TEST(Placement, ManyRanksAreSplitOnce) {
  Program program;
  program.views = {Mesh{{{"tp", 8}, {"dp", 128}, {"pp", 16}}}};
  program.groups = {Group{"dp", 0, {{1, {}}}}};
  program.role_of_rank.assign(16384, 0);
  const auto groups = placed_groups(program, GroupId{0}, packed(program));
  ASSERT_EQ(groups.size(), 128U);
  std::set<int> all;
  for (const auto& group : groups) {
    EXPECT_EQ(group.size(), 128U);
    all.insert(group.begin(), group.end());
  }
  EXPECT_EQ(all.size(), 16384U);
}

/// Only what placement looks at.
Program meshed(const std::vector<Dimension>& dimensions) {
  Program program;
  program.views = {Mesh{dimensions}};
  program.role_of_rank.assign(static_cast<std::size_t>(program.views.front().size()), 0);
  return program;
}

PlacementChoice rail() { return {.rule = "rail", .seats = {}}; }

struct RailCase {
  const char* what;
  std::vector<Dimension> order;
  int gpus_per_host;
  std::vector<int> gpu;
};

// position = replica x (ranks of a replica) + place in it, device = position mod GPUs per node.
const std::vector<RailCase>& rail_cases() {
  static const std::vector<RailCase> kCases{
      // tp 2 x pp 2 = 4 devices: stage 0 of replica d on devices 0, 1 of node d, stage 1 on devices 2, 3.
      {"two stages of a replica share a node", {{"tp", 2}, {"dp", 2}, {"pp", 2}}, 4, {0, 1, 4, 5, 2, 3, 6, 7}},
      {"replicas outermost: as packed", {{"tp", 2}, {"pp", 2}, {"dp", 2}}, 4, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"a tensor group fills a node: as packed",
       {{"tp", 4}, {"dp", 2}, {"pp", 2}},
       4,
       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
      // Four stages on two nodes of a replica: even stages on device 0, odd ones on device 1.
      {"stages 0 and 1, then 2 and 3", {{"dp", 2}, {"pp", 4}}, 2, {0, 2, 1, 3, 4, 6, 5, 7}},
      // dp fastest: packed puts replicas side by side; here the tensor group (ranks 0, 2) is together.
      {"tensor ranks far apart come together", {{"dp", 2}, {"tp", 2}}, 2, {0, 2, 1, 3}},
      // Two ranks of a replica, four GPUs a node: two replicas share a node.
      {"several replicas per node", {{"tp", 2}, {"dp", 4}}, 4, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"one rank", {{"tp", 1}, {"dp", 1}}, 8, {0}},
  };
  return kCases;
}

TEST(Placement, RailByHand) {
  for (const RailCase& c : rail_cases()) {
    EXPECT_EQ(place(meshed(c.order), rail(), c.gpus_per_host).gpu, c.gpu) << c.what;
  }
}

// What it is for: whenever a replica divides or fills nodes of 8, its tensor groups (that fit) stay inside one and its
// data groups have their devices; with all of a node for the replica, one device.
TEST(Placement, RailKeepsTensorGroupsInsideAndDataGroupsOnRails) {
  constexpr int kGpus = 8;
  std::vector<std::string> order{"dp", "pp", "tp"};
  do {
    for (const int tensor : {1, 2, 4, 8}) {
      for (const int stages : {1, 2, 4, 8}) {
        for (const int replicas : {8, 16}) {
          std::vector<Dimension> dimensions;
          for (const std::string& name : order) {
            dimensions.push_back({name, name == "tp" ? tensor : name == "pp" ? stages : replicas});
          }
          const Program program = meshed(dimensions);
          const Placement placement = place(program, rail(), kGpus);
          std::vector<int> sorted = placement.gpu;
          std::ranges::sort(sorted);
          EXPECT_EQ(sorted, packed(program).gpu);  // every GPU once
          const Mesh& mesh = program.views.front();
          for (const auto& group : placed_groups(program, Group{"", 0, {{mesh.find("tp"), {}}}}, placement)) {
            for (const int gpu : group) EXPECT_EQ(gpu / kGpus, group.front() / kGpus);
          }
          std::set<std::size_t> devices;
          for (const auto& group : placed_groups(program, Group{"", 0, {{mesh.find("dp"), {}}}}, placement)) {
            std::set<int> own;
            for (const int gpu : group) own.insert(gpu % kGpus);
            devices.insert(own.size());
          }
          const auto expected = static_cast<std::size_t>(std::max(1, kGpus / (tensor * stages)));
          EXPECT_EQ(devices, (std::set<std::size_t>{expected})) << tensor << " x " << stages;
        }
      }
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST(Placement, RulesHaveNames) {
  for (const PlacementRule& rule : placement_rules()) {
    EXPECT_EQ(find_placement_rule(rule.name), &rule);
    EXPECT_FALSE(rule.summary.empty());
  }
  EXPECT_EQ(find_placement_rule("rails"), nullptr);
  EXPECT_THROW(place(eight_ranks(), {.rule = "rails", .seats = {}}, 8), std::invalid_argument);
}

TEST(Placement, ListedSeats) {
  PlacementChoice choice{.rule = "seats.csv", .seats = {{1, 0, -1}, {0, 3, 2}, {1, 3, 0}, {0, 0, -1}}};
  Program program = meshed({{"tp", 4}});
  EXPECT_EQ(place(program, choice, 4).gpu, (std::vector{4, 3, 7, 0}));
  EXPECT_EQ(choice.chosen_nics(4), (std::map<int, int>{{3, 2}, {7, 0}}));
  choice.seats.pop_back();
  EXPECT_THROW(place(program, choice, 4), std::invalid_argument);
}

// By the cluster's affinity, unless chosen or fallen back to.
TEST(Placement, SeatsNameTheNicReallyUsed) {
  hw_models::ClusterSpec spec = hw_models::examples::dgx_h100(2);
  spec.chosen_nics = {{1, 6}};
  spec.dead_nics = {{1, 2}};
  const hw_models::Cluster cluster(spec);
  const Placement placement = place(meshed({{"dp", 2}, {"tp", 8}}), rail(), 8);
  EXPECT_EQ(seat_of(placement, cluster, Rank{0}), (Seat{0, 0, 0}));
  EXPECT_EQ(seat_of(placement, cluster, Rank{2}), (Seat{0, 1, 6}));
  EXPECT_EQ(seat_of(placement, cluster, Rank{5}), (Seat{1, 2, 3}));
  const hw_models::Cluster alone(hw_models::examples::bridged_pairs());
  EXPECT_EQ(seat_of(packed(meshed({{"tp", 4}})), alone, Rank{3}), (Seat{0, 3, -1}));
}

}  // namespace
}  // namespace strategies
