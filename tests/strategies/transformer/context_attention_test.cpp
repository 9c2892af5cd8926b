#include "strategies/transformer/context_attention.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

// 8 heads of 8 with 4 key-value heads, bf16, 32 tokens: of one rank of c, with 32 / c tokens
//   k = 32/c x 2 x 4 x 8 x 2 B = 4096/c     o = 32/c x 64 x 2 B = 4096/c     p = k + o
constexpr double kBytes = 4096;
constexpr double kLayers = 8, kSequences = 16;

Program program_of(int context, ContextExchange exchange, Recompute recompute = Recompute::kNone, int tensor = 1) {
  PlanSpec plan;
  plan.context = context;
  plan.tensor = tensor;
  plan.context_exchange = exchange;
  plan.recompute = recompute;
  return build_program(tests::small_model(), tests::small_training(), plan, {});
}

/// What a rank sends for one layer of one sequence on the context lane, in one phase.
double sent(const Program& program, Phase phase, int context) {
  const Role& role = program.roles.front();
  double bytes = 0;
  for (const Action& action : role.schedule) {
    for (const Operation& operation : role.blocks[action.block].operations) {
      if (operation.lane != Lane::kContext || operation.origin.phase != phase) continue;
      const auto& collective = std::get<Collective>(operation.work);
      const bool shift =
          collective.kind == CollectiveKind::kShiftNext || collective.kind == CollectiveKind::kShiftPrevious;
      bytes += static_cast<double>(collective.bytes.value()) * (shift ? 1 : (context - 1.0) / context);
    }
  }
  return bytes / kLayers / kSequences;
}

// The table of context_exchange.h.
TEST(ContextAttention, BytesOnTheWire) {
  for (const int context : {2, 4}) {
    const double k = kBytes / context, o = kBytes / context, others = context - 1;
    for (const ContextExchange exchange : {ContextExchange::kRing, ContextExchange::kAllGather}) {
      const Program program = program_of(context, exchange, Recompute::kSelective);
      EXPECT_DOUBLE_EQ(sent(program, Phase::kForward, context), others * k);
      EXPECT_DOUBLE_EQ(sent(program, Phase::kRecompute, context), others * k);
      EXPECT_DOUBLE_EQ(sent(program, Phase::kBackward, context), 2 * others * k);
    }
    const Program heads = program_of(context, ContextExchange::kAllToAll, Recompute::kFull);
    for (const Phase phase : {Phase::kForward, Phase::kRecompute, Phase::kBackward}) {
      EXPECT_DOUBLE_EQ(sent(heads, phase, context), others / context * (k + o + o));
    }
  }
}

// Two key-value heads are left to each of two tensor ranks.
TEST(ContextAttention, TensorRanksExchangeTheirOwnHeads) {
  for (const ContextExchange exchange :
       {ContextExchange::kRing, ContextExchange::kAllGather, ContextExchange::kAllToAll}) {
    for (const Phase phase : {Phase::kForward, Phase::kBackward}) {
      EXPECT_DOUBLE_EQ(2 * sent(program_of(2, exchange, Recompute::kNone, 2), phase, 2),
                       sent(program_of(2, exchange), phase, 2));
    }
  }
}

/// Bytes of the buffers of one name.
std::int64_t held(const Program& program, const std::string& name, int& count) {
  std::int64_t bytes = 0;
  count = 0;
  for (const Buffer& buffer : program.roles.front().buffers) {
    if (buffer.name != name) continue;
    bytes += buffer.size.value();
    ++count;
  }
  return bytes;
}

TEST(ContextAttention, BuffersOfKeysAndValues) {
  int count = 0;
  const Program ring = program_of(4, ContextExchange::kRing);
  EXPECT_EQ(held(ring, "keys-values", count), 3 * 1024);  // from each of the others
  EXPECT_EQ(count, 3);
  EXPECT_EQ(held(ring, "keys-values-gradients", count), 2 * 2 * 1024);  // two that take turns
  EXPECT_EQ(count, 2);
  EXPECT_EQ(held(program_of(4, ContextExchange::kAllGather), "ordered-keys-values", count), 4 * 1024);
  EXPECT_EQ(held(program_of(4, ContextExchange::kAllToAll), "layers.3.attention.exchanged", count), 1024);
  EXPECT_EQ(held(ring, "layers.3.attention.exchanged", count), 0);
}

// Activations of a layer shrink with the tokens; the exchanged output of the all-to-all comes on top.
TEST(ContextAttention, KeptActivationsShrink) {
  const auto kept = [](const Program& program) {
    std::int64_t bytes = 0;
    for (const Buffer& buffer : program.roles.front().buffers) {
      if (buffer.lifetime == Lifetime::kMicrobatch && buffer.name.starts_with("layers.3."))
        bytes += buffer.size.value();
    }
    return bytes;
  };
  const std::int64_t whole = kept(build_program(tests::small_model(), tests::small_training(), {}, {}));
  EXPECT_EQ(kept(program_of(4, ContextExchange::kRing)), whole / 4);
  EXPECT_EQ(kept(program_of(4, ContextExchange::kAllGather)), whole / 4);
  EXPECT_EQ(kept(program_of(4, ContextExchange::kAllToAll)), whole / 4 + 1024);
}

// The shifts run ahead: no kernel but the first waits for the compute lane's exchange of its own step.
TEST(ContextAttention, TheRingRunsBesideTheKernels) {
  const Program program = program_of(4, ContextExchange::kRing);
  const Block& forward = program.roles.front().blocks.front();
  std::vector<std::uint32_t> shifts, kernels;
  for (std::uint32_t i = 0; i < forward.operations.size(); ++i) {
    const Operation& operation = forward.operations[i];
    if (operation.origin.layer != 3) continue;
    if (operation.lane == Lane::kContext) shifts.push_back(i);
    if (operation.origin.label.starts_with("attention-ring-")) kernels.push_back(i);
  }
  ASSERT_EQ(shifts.size(), 3u);
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_LT(shifts.back(), kernels.front());
  EXPECT_TRUE(forward.operations[kernels[0]].after.empty());
  for (std::size_t step = 1; step < 4; ++step) {
    EXPECT_EQ(forward.operations[kernels[step]].after, std::vector{OperationId{shifts[step - 1]}});
  }
}

}  // namespace
}  // namespace strategies
