#include "sim/rank_classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "strategies/build_program.h"
#include "tests/programs/small_plans.h"
#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using strategies::Program;
using strategies::Rank;

/// tensor 4 x data 4 x 2 stages of a plan as users write it.
Program three_dimensions() {
  strategies::PlanSpec plan;
  plan.tensor = plan.data = 4;
  plan.pipeline = 2;
  return strategies::build_program(tests::small_model(), tests::small_training(), plan, {});
}

std::vector<std::uint32_t> alike(const Program& program) {
  return std::vector<std::uint32_t>(program.role_of_rank.size(), 0);
}

TEST(RankClasses, ByRoleAndSingle) {
  Program program = tests::empty_program(2, 2, 1);
  program.role_of_rank = {1, 0, 1, 0};
  const RankClasses by_role = classes_by_role(program);
  ASSERT_EQ(by_role.size(), 2U);
  EXPECT_EQ(by_role.all[0].representative, Rank{1});
  EXPECT_EQ(by_role.all[1].representative, Rank{0});
  EXPECT_EQ(by_role.all[1].ranks, 2);
  EXPECT_EQ(by_role.of_rank, program.role_of_rank);

  const RankClasses singles = single_ranks(program, {SlowGpu{Rank{2}, 0.5}});
  ASSERT_EQ(singles.size(), 4U);  // roles first: ranks 1, 3, 0, 2
  EXPECT_EQ(singles.of_rank, (std::vector<std::uint32_t>{2, 0, 3, 1}));
  for (const RankClass& each : singles.all) EXPECT_EQ(each.speed, each.representative == Rank{2} ? 0.5 : 1);
}

TEST(RankClasses, SlowRankMustExist) {
  const Program program = tests::empty_program(2, 2, 1);
  EXPECT_THROW(single_ranks(program, {SlowGpu{Rank{4}, 0.5}}), std::invalid_argument);
  EXPECT_THROW(single_ranks(program, {SlowGpu{Rank{-1}, 0.5}}), std::invalid_argument);
  EXPECT_NO_THROW(single_ranks(program, {SlowGpu{Rank{3}, 0.5}}));
}

TEST(RankClasses, AlikeRanksFoldToTheirRoles) {
  const Program program = three_dimensions();
  const RankClasses classes = folded(program, single_ranks(program), alike(program));
  EXPECT_EQ(classes.of_rank, classes_by_role(program).of_rank);
}

// The slow rank (tensor 1, data 2) of stage 0 meets 3 tensor peers and 3 data peers; all 9 others of the stage are
// alike. Its peer on stage 1 waits for it, and so on: the same four classes there.
TEST(RankClasses, ASlowRankUnfoldsItsGroupsAndItsPipeline) {
  const Program program = three_dimensions();
  const RankClasses classes = folded(program, single_ranks(program, {SlowGpu{Rank{9}, 0.8}}), alike(program));
  ASSERT_EQ(classes.size(), 8U);
  const std::int64_t ranks[] = {9, 3, 3, 1};  // others, data peers, tensor peers, the slow one: by lowest rank
  const Rank lowest[] = {{0}, {1}, {8}, {9}};
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(classes.all[i].role, i / 4);
    EXPECT_EQ(classes.all[i].ranks, ranks[i % 4]);
    EXPECT_EQ(classes.all[i].representative.value, lowest[i % 4].value + (i < 4 ? 0 : 16));
    EXPECT_EQ(classes.all[i].speed, i == 3 ? 0.8 : 1);
  }
}

// Prices that differ split as a slow GPU does.
TEST(RankClasses, OwnPricesSplit) {
  const Program program = three_dimensions();
  std::vector<std::uint32_t> own = alike(program);
  own[9] = 7;
  EXPECT_EQ(folded(program, single_ranks(program), own).size(), 8U);
}

/// How many of a rank's group are of each class.
std::map<std::uint32_t, int> met(const Program& program, const RankClasses& classes, const strategies::Group& group,
                                 int rank) {
  std::map<std::uint32_t, int> counts;
  for (const Rank member : group.members(program.views[static_cast<std::size_t>(group.view)], Rank{rank})) {
    ++counts[classes.of_rank[static_cast<std::size_t>(member.value)]];
  }
  return counts;
}

// What makes one process per class exact.
TEST(RankClasses, RanksOfAClassMeetTheSameClasses) {
  for (const tests::SmallPlan& small : tests::small_plans()) {
    SCOPED_TRACE(small.name);
    const Program program =
        strategies::build_program(tests::small_model(), tests::small_training(), small.plan, small.implementation);
    const Rank slow{program.ranks() / 2};
    const RankClasses classes = folded(program, single_ranks(program, {SlowGpu{slow, 0.8}}), alike(program));
    EXPECT_EQ(classes.of(slow).ranks, 1);
    std::int64_t ranks = 0;
    for (const RankClass& each : classes.all) ranks += each.ranks;
    EXPECT_EQ(ranks, program.ranks());
    for (int rank = 0; rank < program.ranks(); ++rank) {
      const Rank representative = classes.of(Rank{rank}).representative;
      EXPECT_LE(representative.value, rank);
      for (const strategies::Group& group : program.groups) {
        if (group.name == "tensor" || group.name == "data") {
          EXPECT_EQ(met(program, classes, group, rank), met(program, classes, group, representative.value));
        }
      }
    }
  }
}

}  // namespace
}  // namespace sim
