#include "strategies/placement/placement.h"

#include <gtest/gtest.h>

#include <set>

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
  EXPECT_EQ(placed_groups(program, program.groups[0], placement), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(placed_groups(program, program.groups[1], placement), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
}

TEST(Placement, RanksOutsideTheFamilyAreLeftOut) {
  const Program program = eight_ranks();
  EXPECT_EQ(placed_groups(program, program.groups[2], packed(program)), (Groups{{0, 4}, {1, 5}}));
}

TEST(Placement, GroupsNameGpusNotRanks) {
  const Program program = eight_ranks();
  const Placement reversed{{7, 6, 5, 4, 3, 2, 1, 0}};
  EXPECT_EQ(placed_groups(program, program.groups[0], reversed), (Groups{{7, 6}, {5, 4}, {3, 2}, {1, 0}}));
}

TEST(Placement, ManyRanksAreSplitOnce) {
  Program program;
  program.views = {Mesh{{{"tp", 8}, {"dp", 128}, {"pp", 16}}}};
  program.groups = {Group{"dp", 0, {{1, {}}}}};
  program.role_of_rank.assign(16384, 0);
  const auto groups = placed_groups(program, program.groups[0], packed(program));
  ASSERT_EQ(groups.size(), 128U);
  std::set<int> all;
  for (const auto& group : groups) {
    EXPECT_EQ(group.size(), 128U);
    all.insert(group.begin(), group.end());
  }
  EXPECT_EQ(all.size(), 16384U);
}

}  // namespace
}  // namespace strategies
