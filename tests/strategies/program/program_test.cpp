#include "strategies/program/program.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace strategies {
namespace {

TEST(Program, PeerIsOnTheStageOfTheVirtualStage) {
  Program program;
  program.views = {Mesh{{{"tp", 2}, {"pp", 2}, {"dp", 2}}}};
  program.stage_of_virtual = {0, 1, 0, 1};
  // rank 5 = tp 1, pp 0, dp 1
  EXPECT_EQ(program.peer(Rank{5}, 0).value, 5);
  EXPECT_EQ(program.peer(Rank{5}, 1).value, 7);
  EXPECT_EQ(program.peer(Rank{7}, 2).value, 5);
}

TEST(Program, WithoutStagesARankIsItsOwnPeer) {
  Program program;
  program.views = {Mesh{{{"dp", 4}}}};
  program.stage_of_virtual = {0};
  EXPECT_EQ(program.peer(Rank{3}, 0).value, 3);
}

TEST(Program, RepresentativesAreTheLowestRanks) {
  Program program;
  program.roles.resize(3);
  program.role_of_rank = {1, 0, 1, 0};
  EXPECT_EQ(program.ranks(), 4);
  EXPECT_EQ(program.representatives()[0].value, 1);
  EXPECT_EQ(program.representatives()[1].value, 0);
  EXPECT_EQ(program.representatives()[2].value, -1);
}

template <class E>
void expect_distinct_names(int count) {
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) names.insert(name(static_cast<E>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(count));
  EXPECT_FALSE(names.contains("?"));
  EXPECT_STREQ(name(static_cast<E>(count)), "?");
}

TEST(Names, AreDistinctAndComplete) {
  expect_distinct_names<Lane>(kLanes);
  expect_distinct_names<Holds>(5);
  expect_distinct_names<CollectiveKind>(8);
  expect_distinct_names<HostReason>(8);
  expect_distinct_names<Phase>(8);
  expect_distinct_names<BlockKind>(6);
  expect_distinct_names<Variant>(4);
}

TEST(Names, AsDocumented) {
  EXPECT_STREQ(name(Lane::kHost), "host");
  EXPECT_STREQ(name(Lane::kSendNext), "send-next");
  EXPECT_STREQ(name(Lane::kStorage), "storage");
  EXPECT_STREQ(name(BlockKind::kBackward), "BW");
  EXPECT_STREQ(name(BlockKind::kOther), "X");
  EXPECT_STREQ(name(Phase::kOther), "other");
  EXPECT_STREQ(name(Variant::kLast), "last");
}

}  // namespace
}  // namespace strategies
