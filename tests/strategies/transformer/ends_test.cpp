#include "strategies/transformer/ends.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

// The bias of the LM head is read by its product and summed into in every backward pass, however gradients are kept.
TEST(Ends, BiasOfTheHeadIsAddedAndGetsAGradient) {
  ModelSpec model = tests::small_model();
  model.tied_embeddings = false;
  model.head_bias = true;
  for (const int zero : {0, 1, 2, 3}) {
    PlanSpec plan;
    plan.data = 2;
    plan.zero = zero;
    const Program program = build_program(model, tests::small_training(), plan, {});
    const Role& role = program.roles.front();
    int added = 0, summed = 0;
    for (const Block& block : role.blocks) {
      for (const Operation& operation : block.operations) {
        const auto names_bias = [&](BufferId buffer) {
          return role.buffers[buffer.value].slice.parameter == "head.bias";
        };
        if (operation.origin.label == "lm-head") added += std::ranges::any_of(operation.reads, names_bias) ? 1 : 0;
        if (operation.origin.label != "lm-head-bias-gradient") continue;
        EXPECT_TRUE(std::ranges::any_of(operation.writes, names_bias));
        ++summed;
      }
    }
    EXPECT_GT(added, 0) << zero;
    EXPECT_GT(summed, 0) << zero;
  }
}

}  // namespace
}  // namespace strategies
