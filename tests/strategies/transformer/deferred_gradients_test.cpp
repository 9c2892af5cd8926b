#include "strategies/transformer/deferred_gradients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "strategies/build_program.h"
#include "strategies/pipeline/pass_costs.h"
#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

const Block* find_block(const Role& role, BlockKind kind) {
  const auto found = std::ranges::find(role.blocks, kind, &Block::kind);
  return found == role.blocks.end() ? nullptr : &*found;
}

Program built(const ModelSpec& model, const char* schedule, const Implementation& implementation, int tensor = 1,
              Recompute recompute = Recompute::kNone) {
  PlanSpec plan;
  plan.tensor = tensor;
  plan.pipeline = 4;
  plan.schedule = schedule;
  plan.sequence_parallel = tensor > 1;
  plan.recompute = recompute;
  return build_program(model, tests::small_training(), plan, implementation);
}

// B and W together issue what BW issues, each operation once.
TEST(DeferredGradients, BothBlocksTogetherDoWhatTheWholeBackwardDoes) {
  Implementation dropout;
  dropout.dropout = true;
  dropout.fused_gradient_accumulation = false;
  for (const ModelSpec& model : {tests::small_model(), tests::small_gpt()}) {
    for (const Implementation& implementation : {Implementation{}, dropout}) {
      for (const int tensor : {1, 2}) {
        const Program whole = built(model, "1f1b", implementation, tensor, Recompute::kFull);
        const Program split = built(model, "zb-h1", implementation, tensor, Recompute::kFull);
        for (std::size_t stage = 0; stage < whole.roles.size(); ++stage) {
          std::vector<Operation> left = find_block(split.roles[stage], BlockKind::kBackwardInput)->operations;
          for (const Operation& operation : find_block(split.roles[stage], BlockKind::kBackwardWeight)->operations) {
            left.push_back(operation);
          }
          for (const Operation& operation : find_block(whole.roles[stage], BlockKind::kBackward)->operations) {
            const auto same = std::ranges::find_if(left, [&](const Operation& other) {
              return other.work == operation.work && other.origin == operation.origin;
            });
            // A gather for a weight gradient counts to that.
            const bool gather = same == left.end() && operation.origin.label == "gather-sequence";
            const auto moved = gather ? std::ranges::find(left, operation.work, &Operation::work) : same;
            ASSERT_NE(moved, left.end()) << model.name << " stage " << stage << ": " << operation.origin.label;
            left.erase(moved);
          }
          EXPECT_TRUE(left.empty()) << left.front().origin.label;
        }
      }
    }
  }
}

// Qi et al. (arXiv:2401.10241), table 2, of a GPT layer with dropout and unfused attention: a forward keeps
// s b h (34 + 5 a s / h) bytes, input gradients leave 32 s b h of it or of their own for the weight gradients.
TEST(DeferredGradients, KeepsTheOperandsOfAGptLayer) {
  ModelSpec model = tests::small_gpt();
  model.ffn = 4 * model.hidden;
  Implementation implementation;
  implementation.attention = hw_models::AttentionKernel::kUnfused;
  implementation.dropout = true;
  const Program program = built(model, "zb-h1", implementation);
  const Role& role = program.roles[1];  // two layers, neither end
  const PassCosts costs =
      pass_costs(role, *find_block(role, BlockKind::kForward), *find_block(role, BlockKind::kBackwardInput),
                 *find_block(role, BlockKind::kBackwardWeight));
  const std::int64_t sequence = tests::small_training().sequence_length;
  const std::int64_t stream = sequence * model.hidden;  // one sequence a microbatch
  EXPECT_EQ(costs.kept, 2 * (34 * stream + 5 * model.heads * sequence * sequence));
  EXPECT_EQ(costs.kept_for_weight, 2 * 32 * stream);
}

// Under full recomputation a forward keeps its input alone, and the operands come into being in B.
TEST(DeferredGradients, RecomputedOperandsWaitForTheirProducts) {
  Implementation implementation;
  implementation.dropout = true;
  ModelSpec model = tests::small_gpt();
  model.ffn = 4 * model.hidden;
  const Program program = built(model, "zb-h1", implementation, 1, Recompute::kFull);
  const Role& role = program.roles[1];
  const PassCosts costs =
      pass_costs(role, *find_block(role, BlockKind::kForward), *find_block(role, BlockKind::kBackwardInput),
                 *find_block(role, BlockKind::kBackwardWeight));
  const std::int64_t stream = tests::small_training().sequence_length * model.hidden;
  EXPECT_EQ(costs.kept, 2 * 2 * stream);
  EXPECT_EQ(costs.kept_for_weight, 2 * 32 * stream);
}

// A stage whose update is checked later receives the sum of those before it and sends its own on; the total comes back
// before the first backward of the next step. No collective joins the stages.
TEST(DeferredGradients, PostValidationPassesTheNormFromStageToStage) {
  Implementation implementation;
  implementation.post_validation = true;
  const Program program = built(tests::small_model(), "zb-2p", implementation);
  for (const Role& role : program.roles) {
    const Block& update = *find_block(role, BlockKind::kUpdate);
    const Block& check = *find_block(role, BlockKind::kOther);
    const auto count = [](const Block& block, auto is) {
      return std::ranges::count_if(block.operations, [&](const Operation& o) { return is(o.work); });
    };
    const auto sends = [](const Work& work) { return std::holds_alternative<Send>(work); };
    const auto receives = [](const Work& work) { return std::holds_alternative<Receive>(work); };
    const bool first = role.stage == 0, last = role.stage == 3;
    EXPECT_EQ(count(update, receives), first ? 0 : 1);
    EXPECT_EQ(count(update, sends), last ? 0 : 1);
    EXPECT_EQ(count(check, receives), last ? 0 : 1);
    EXPECT_EQ(count(check, sends), first ? 0 : 1);
    for (const Operation& operation : update.operations) EXPECT_NE(operation.origin.label, "reduce-gradient-norm");
    // It is the first thing but forwards.
    for (const Action& action : role.schedule) {
      if (role.blocks[action.block].kind == BlockKind::kForward) continue;
      EXPECT_EQ(role.blocks[action.block].kind, BlockKind::kOther) << role.name;
      break;
    }
  }
}

}  // namespace
}  // namespace strategies
