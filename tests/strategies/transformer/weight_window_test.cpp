#include "strategies/transformer/weight_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

/// 8 layers, 4 replicas, 4 microbatches of one sequence.
PlanSpec sharded() {
  PlanSpec plan;
  plan.data = 4;
  plan.zero = 3;
  return plan;
}

Program made(const PlanSpec& plan, const Implementation& implementation = {}) {
  return build_program(tests::small_model(), tests::small_training(), plan, implementation);
}

const Block& block_of(const Role& role, BlockKind kind) {
  return *std::ranges::find_if(role.blocks, [kind](const Block& block) { return block.kind == kind; });
}

/// "g3": the weights of layer 3 are gathered; "3": the first kernel of layer 3. "g-1": those of no layer.
std::vector<std::string> order_of(const Block& block) {
  std::vector<std::string> order;
  for (const Operation& operation : block.operations) {
    const std::string layer = std::to_string(operation.origin.layer);
    const bool gather = operation.origin.label == "gather-weights";
    const bool kernel = std::holds_alternative<Compute>(operation.work) && operation.origin.layer >= 0;
    if (gather || (kernel && (order.empty() || std::ranges::find(order, layer) == order.end()))) {
      order.push_back(gather ? "g" + layer : layer);
    }
  }
  return order;
}

TEST(WeightWindow, GathersAsFarAheadAsThePlanSays) {
  PlanSpec plan = sharded();
  const auto forward = [&plan](int prefetch) {
    plan.prefetch = prefetch;
    return order_of(block_of(made(plan).roles.front(), BlockKind::kForward));
  };
  using Order = std::vector<std::string>;
  EXPECT_EQ(forward(0),
            (Order{"g-1", "g0", "0", "g1", "1", "g2", "2", "g3", "3", "g4", "4", "g5", "5", "g6", "6", "g7", "7"}));
  EXPECT_EQ(forward(1),
            (Order{"g-1", "g0", "g1", "0", "g2", "1", "g3", "2", "g4", "3", "g5", "4", "g6", "5", "g7", "6", "7"}));
  EXPECT_EQ(forward(100),
            (Order{"g-1", "g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7", "0", "1", "2", "3", "4", "5", "6", "7"}));
}

TEST(WeightWindow, TheBackwardPassGathersWhatWasGivenBack) {
  PlanSpec plan = sharded();
  Implementation keeps;
  keeps.keeps_last_layer = true;
  const auto gathers = [&](const Implementation& implementation) {
    std::vector<std::string> order = order_of(block_of(made(plan, implementation).roles.front(), BlockKind::kBackward));
    std::erase_if(order, [](const std::string& entry) { return entry.front() != 'g'; });
    return order;
  };
  using Order = std::vector<std::string>;
  EXPECT_EQ(gathers({}), (Order{"g7", "g6", "g5", "g4", "g3", "g2", "g1", "g0"}));
  EXPECT_EQ(gathers(keeps), (Order{"g6", "g5", "g4", "g3", "g2", "g1", "g0"}));
  plan.reshard_after_forward = false;
  EXPECT_EQ(gathers({}), Order{});
}

/// Most layers whose weights are whole at once, in program order over the whole step.
std::size_t most_whole(const Role& role) {
  std::map<std::uint32_t, int> layer_of;
  for (std::uint32_t i = 0; i < role.buffers.size(); ++i) {
    const Buffer& buffer = role.buffers[i];
    const bool whole = buffer.holds == Holds::kWeights && buffer.lifetime != Lifetime::kStatic;
    if (whole && buffer.slice.parameter.starts_with("layers."))
      layer_of[i] = std::stoi(buffer.slice.parameter.substr(7));
  }
  std::multiset<int> alive;
  std::size_t most = 0;
  for (const Action& action : role.schedule) {
    for (const Operation& operation : role.blocks[action.block].operations) {
      for (const BufferId buffer : operation.allocates) {
        if (layer_of.contains(buffer.value)) alive.insert(layer_of[buffer.value]);
      }
      most = std::max(most, std::set<int>(alive.begin(), alive.end()).size());
      for (const BufferId buffer : operation.frees) {
        if (layer_of.contains(buffer.value)) alive.erase(alive.find(layer_of[buffer.value]));
      }
    }
  }
  return most;
}

TEST(WeightWindow, BoundsTheMemoryOfWholeWeights) {
  PlanSpec plan = sharded();
  for (const int prefetch : {0, 1, 3}) {
    plan.prefetch = prefetch;
    EXPECT_EQ(most_whole(made(plan).roles.front()), static_cast<std::size_t>(prefetch + 1));
  }
  plan.prefetch = 1;
  Implementation waits;
  waits.overlap_parameter_gather = false;
  EXPECT_EQ(most_whole(made(plan, waits).roles.front()), 1U);
  plan.reshard_after_forward = false;
  EXPECT_EQ(most_whole(made(plan).roles.front()), 8U);
}

// Gather k may start when layer k - 2 is done: it waits for the last kernel of that layer, its first kernel for it.
TEST(WeightWindow, AGatherWaitsForTheLayerBehindTheWindow) {
  const Program program = made(sharded());
  const Block& forward = block_of(program.roles.front(), BlockKind::kForward);
  for (std::uint32_t i = 0; i < forward.operations.size(); ++i) {
    const Operation& gather = forward.operations[i];
    if (gather.origin.label != "gather-weights" || gather.origin.layer < 2) continue;
    ASSERT_EQ(gather.after.size(), 1U);
    const Operation& before = forward.operations[gather.after.front().value];
    EXPECT_EQ(before.origin.layer, gather.origin.layer - 2);
    EXPECT_EQ(before.origin.label, "residual-add");
    const auto reader = std::ranges::find_if(forward.operations, [&](const Operation& operation) {
      return operation.origin.layer == gather.origin.layer && operation.lane == Lane::kCompute;
    });
    EXPECT_NE(std::ranges::find(reader->after, OperationId{i}), reader->after.end());
  }
}

TEST(WeightWindow, InAPipelineWeightsAreGatheredOnceAStep) {
  PlanSpec plan = sharded();
  plan.pipeline = 2;
  const auto gathers = [](const Role& role) {
    int count = 0;
    for (const Action& action : role.schedule) {
      for (const Operation& operation : role.blocks[action.block].operations) {
        count += operation.origin.label == "gather-weights" ? 1 : 0;
      }
    }
    return count;
  };
  for (const Role& role : made(plan).roles) EXPECT_EQ(gathers(role), 4 + 1);  // four layers, and a table
  plan.reshard_after_forward = true;
  const Program often = made(plan);
  EXPECT_EQ(gathers(often.roles[0]), 4 * (2 * 4 + 1));  // four microbatches; the backward pass reads no embedding
  EXPECT_EQ(gathers(often.roles[1]), 4 * (2 * 4 + 2));
}

}  // namespace
}  // namespace strategies
