#include "strategies/transformer/context_tiles.h"

#include <gtest/gtest.h>

#include <variant>

#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

constexpr std::int64_t kSequence = 1024, kHeads = 8, kLayers = 8;

/// Scores of one kernel over all its heads: when causal the last query sees all keys, the first all but the others'.
std::int64_t scores(const hw_models::Attention& a) {
  const std::int64_t rectangle = a.query_length * a.key_length;
  const std::int64_t square = a.query_length * a.query_length;
  return a.batch * a.heads * (a.causal ? rectangle - square / 2 : rectangle);
}

/// Of one layer, forward or backward, by role: 16 sequences.
std::vector<std::int64_t> scores_by_role(int context, ContextExchange exchange, bool balanced, bool backward) {
  TrainingSpec training = tests::small_training();
  training.sequence_length = kSequence;
  PlanSpec plan;
  plan.context = context;
  plan.context_exchange = exchange;
  Implementation implementation;
  implementation.balanced_context = balanced;
  const Program program = build_program(tests::small_model(), training, plan, implementation);
  std::vector<std::int64_t> sums;
  for (const Role& role : program.roles) {
    std::int64_t& sum = sums.emplace_back(0);
    for (const Action& action : role.schedule) {
      for (const Operation& operation : role.blocks[action.block].operations) {
        const auto* compute = std::get_if<Compute>(&operation.work);
        const auto* kernel = compute ? std::get_if<hw_models::Attention>(&compute->kernel) : nullptr;
        if (kernel && kernel->backward == backward) sum += scores(*kernel);
      }
    }
    sum /= training.global_batch * kLayers;
  }
  return sums;
}

// s^2 / 2 scores a head in all, s^2 / (2 c) on each of c ranks; unbalanced, rank r has (r + 1/2) l^2 with l = s / c.
TEST(ContextTiles, ScoresOfEveryRank) {
  for (const bool backward : {false, true}) {
    for (const int context : {2, 4}) {
      const std::int64_t own = kSequence / context, share = kHeads * kSequence * kSequence / 2 / context;
      for (const ContextExchange exchange :
           {ContextExchange::kRing, ContextExchange::kAllGather, ContextExchange::kAllToAll}) {
        EXPECT_EQ(scores_by_role(context, exchange, true, backward), std::vector{share});
        std::vector<std::int64_t> unbalanced;
        for (int rank = 0; rank < context; ++rank) unbalanced.push_back(kHeads * own * own * (2 * rank + 1) / 2);
        if (exchange == ContextExchange::kAllToAll) unbalanced = {share};
        EXPECT_EQ(scores_by_role(context, exchange, false, backward), unbalanced);
      }
    }
  }
}

TEST(ContextTiles, RanksDifferWhereKeysLieBehindTheQueries) {
  PlanSpec plan;
  Implementation unbalanced;
  unbalanced.balanced_context = false;
  EXPECT_FALSE(context_ranks_differ(plan, unbalanced));
  plan.context = 2;
  EXPECT_TRUE(context_ranks_differ(plan, unbalanced));
  EXPECT_FALSE(context_ranks_differ(plan, {}));
  plan.context_exchange = ContextExchange::kAllToAll;
  EXPECT_FALSE(context_ranks_differ(plan, unbalanced));
}

}  // namespace
}  // namespace strategies
