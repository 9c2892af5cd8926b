// Latent attention, counted by hand: products, traffic, memory.
#include "strategies/transformer/latent_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "strategies/build_program.h"
#include "strategies/pipeline/schedule.h"
#include "strategies/program/check.h"
#include "tests/programs/matmul_flops.h"
#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

using ::testing::ElementsAre;
using tests::matmul_flops;

// hidden 64, 8 heads of 8 + 4 (values 6), latents of 24 and 16; 32 tokens a microbatch; bf16.
constexpr std::int64_t kTokens = 32, kHidden = 64, kHeads = 8, kQueryRank = 24, kRank = 16, kRope = 4;
constexpr std::int64_t kQuery = kHeads * 12, kValues = kHeads * 6, kPacked = 2 * kQuery + kValues;

ModelSpec latent_model() {
  ModelSpec model = tests::small_latent();
  model.extra_prediction_layers = 0;
  return model;
}

ModelSpec uncompressed() {
  ModelSpec model = latent_model();
  model.latent->query_rank = 0;
  return model;
}

const Block& block_of(const Program& program, BlockKind kind) {
  return *std::ranges::find(program.roles.front().blocks, kind, &Block::kind);
}

/// "label m n k" of the products of layer 0, those of the MLP left out.
std::vector<std::string> products(const Block& block) {
  std::vector<std::string> found;
  for (const Operation& operation : block.operations) {
    const auto* compute = std::get_if<Compute>(&operation.work);
    const auto* matmul = compute != nullptr ? std::get_if<hw_models::Matmul>(&compute->kernel) : nullptr;
    const std::string& label = operation.origin.label;
    if (matmul == nullptr || operation.origin.layer != 0 || label.starts_with("mlp")) continue;
    found.push_back(label + " " + std::to_string(matmul->m) + " " + std::to_string(matmul->n) + " " +
                    std::to_string(matmul->k));
  }
  return found;
}

PlanSpec split(int tensor, bool sequence_parallel) {
  PlanSpec plan;
  plan.tensor = tensor;
  plan.sequence_parallel = sequence_parallel;
  return plan;
}

TEST(LatentAttention, DownProjectionsTakeTheRanksOwnRows) {
  const Program program = build_program(latent_model(), tests::small_training(), split(2, true), {});
  EXPECT_THAT(products(block_of(program, BlockKind::kForward)),
              ElementsAre("query-down 16 24 64", "kv-down 16 20 64", "query-up 32 48 24", "kv-up 32 56 16",
                          "attention-output 32 64 24"));
  EXPECT_THAT(products(block_of(program, BlockKind::kBackward)),
              ElementsAre("attention-output-dgrad 32 24 64", "attention-output-wgrad 64 24 32",  //
                          "query-up-dgrad 32 24 48", "query-up-wgrad 48 24 32",                  //
                          "query-down-dgrad 16 64 24", "query-down-wgrad 24 64 16",              //
                          "kv-up-dgrad 32 16 56", "kv-up-wgrad 56 16 32",                        //
                          "kv-down-dgrad 16 64 20", "kv-down-wgrad 20 64 16"));
}

TEST(LatentAttention, QueriesMayComeFromTheStream) {
  const Program program = build_program(uncompressed(), tests::small_training(), split(2, true), {});
  EXPECT_THAT(products(block_of(program, BlockKind::kForward)),
              ElementsAre("kv-down 16 20 64", "query 32 48 64", "kv-up 32 56 16", "attention-output 32 64 24"));
}

/// Bytes over the tensor group in layer 0's attention (without the MLP's two gathers and two reductions).
std::int64_t traffic(const Block& block, CollectiveKind kind) {
  std::int64_t bytes = 0;
  for (const Operation& operation : block.operations) {
    const auto* collective = std::get_if<Collective>(&operation.work);
    if (collective != nullptr && operation.origin.layer == 0 && collective->kind == kind) {
      bytes += collective->bytes.value();
    }
  }
  return bytes;
}

// Other attention gathers and scatters the stream, 2 s h bytes each; this one the latents.
TEST(LatentAttention, LatentsTravelInsteadOfTheStream) {
  const std::int64_t stream = 2 * kTokens * kHidden, latents = 2 * kTokens * (kQueryRank + kRank);
  const std::int64_t positions = 2 * kTokens * kRope;
  const Program sequence = build_program(latent_model(), tests::small_training(), split(2, true), {});
  const Block& forward = block_of(sequence, BlockKind::kForward);
  EXPECT_EQ(traffic(forward, CollectiveKind::kAllGather), stream + latents + positions);  // of the MLP; of attention
  EXPECT_EQ(traffic(forward, CollectiveKind::kReduceScatter), 2 * stream);
  const Block& backward = block_of(sequence, BlockKind::kBackward);
  // Gradients of both branches, and the inputs of the first matrices again.
  EXPECT_EQ(traffic(backward, CollectiveKind::kAllGather), 3 * stream + latents);
  EXPECT_EQ(traffic(backward, CollectiveKind::kReduceScatter), stream + latents + positions);
  const Program whole = build_program(latent_model(), tests::small_training(), split(2, false), {});
  EXPECT_EQ(traffic(block_of(whole, BlockKind::kForward), CollectiveKind::kAllReduce), 2 * stream);
  EXPECT_EQ(traffic(block_of(whole, BlockKind::kBackward), CollectiveKind::kAllReduce), stream + latents + positions);
}

TEST(LatentAttention, ReplicatedGradientsAreSummedWithTheNorms) {
  for (const bool sequence_parallel : {true, false}) {
    const Program program = build_program(latent_model(), tests::small_training(), split(2, sequence_parallel), {});
    const Block& update = block_of(program, BlockKind::kUpdate);
    std::int64_t bytes = 0;
    for (const Operation& operation : update.operations) {
      const auto* collective = std::get_if<Collective>(&operation.work);
      if (operation.origin.label == "reduce-norms") bytes += collective->bytes.value();
    }
    const std::int64_t layer = kHidden * (kQueryRank + kRank + kRope) + kQueryRank + kRank + 2 * kHidden;
    EXPECT_EQ(bytes, sequence_parallel ? 4 * (8 * layer + kHidden) : 0);
  }
}

// Without sequence parallelism every tensor rank multiplies all rows by the replicated matrices.
TEST(LatentAttention, SpreadsTheModelsFlops) {
  Implementation implementation;
  implementation.vocabulary_multiple = 0;
  const double tokens = 16.0 * kTokens;
  for (const ModelSpec& model : {latent_model(), uncompressed()}) {
    const double model_flops = training_flops_per_token(model, kTokens).dense * tokens;
    const double down = 6.0 * 8 * kHidden * static_cast<double>(model.latent->query_rank + kRank + kRope) * tokens;
    for (const int tensor : {1, 2, 4}) {
      for (const bool sequence_parallel : {true, false}) {
        PlanSpec plan = split(tensor, sequence_parallel && tensor > 1);
        const double more = plan.sequence_parallel ? 0 : (tensor - 1) * down;
        EXPECT_DOUBLE_EQ(matmul_flops(build_program(model, tests::small_training(), plan, implementation)),
                         model_flops + more);
        plan.recompute = Recompute::kUpProjection;
        const double again = latent_up_flops_per_token(model) * tokens;
        EXPECT_DOUBLE_EQ(matmul_flops(build_program(model, tests::small_training(), plan, implementation)),
                         model_flops + more + again);
      }
    }
  }
}

/// Attention's bytes from the forward to the backward pass of layer 0.
std::int64_t kept(const Program& program) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : program.roles.front().buffers) {
    const bool attention = buffer.name.starts_with("layers.0.attention.");
    if (buffer.lifetime == Lifetime::kMicrobatch && attention) bytes += buffer.size.value();
  }
  return bytes;
}

TEST(LatentAttention, KeepsTheLatentsAndWhatTheyBecome) {
  // The normed stream, both latents before and behind their norms, the keys' rotary part; queries, keys and values; the
  // context; the logarithms of the sums.
  const std::int64_t latents = 2 * kTokens * (kHidden + 2 * kQueryRank + 2 * kRank + kRope);
  const std::int64_t packed = 2 * kTokens * kPacked, rest = 2 * kTokens * kValues + 4 * kTokens * kHeads;
  PlanSpec plan;
  const auto kept_by = [&](Recompute recompute, const ModelSpec& model) {
    plan.recompute = recompute;
    return kept(build_program(model, tests::small_training(), plan, {}));
  };
  EXPECT_EQ(kept_by(Recompute::kNone, latent_model()), latents + packed + rest);
  EXPECT_EQ(kept_by(Recompute::kUpProjection, latent_model()), latents + rest);
  EXPECT_EQ(kept_by(Recompute::kSelective, latent_model()), latents + packed + 2 * kTokens * kValues);
  EXPECT_EQ(kept_by(Recompute::kFull, latent_model()), 0);
  EXPECT_EQ(kept_by(Recompute::kNone, uncompressed()), latents + packed + rest - 2 * kTokens * 2 * kQueryRank);
}

TEST(LatentAttention, IsWellFormedUnderEverySchedulePolicyAndFormat) {
  for (const ModelSpec& model : {latent_model(), uncompressed(), tests::small_latent()}) {
    for (const Schedule& schedule : schedules()) {
      for (const Recompute recompute : {Recompute::kNone, Recompute::kUpProjection, Recompute::kFull}) {
        for (const bool narrow : {false, true}) {
          for (const bool keeps : {false, true}) {
            PlanSpec plan;
            plan.tensor = plan.pipeline = 2;
            plan.sequence_parallel = keeps;
            plan.schedule = schedule.name;
            plan.chunks = schedule.minimum_chunks;
            plan.recompute = recompute;
            Implementation implementation;
            implementation.low_precision.keeps_narrow = keeps;
            implementation.fused_elementwise = keeps;
            TrainingSpec training = tests::small_training();
            if (narrow) training.precision = hw_models::DType::kFp8;
            const Program program = build_program(model, training, plan, implementation);
            EXPECT_EQ(check_program(program), std::vector<std::string>{})
                << model.name << model.latent->query_rank << ' ' << schedule.name << ' ' << static_cast<int>(recompute)
                << narrow << keeps;
          }
        }
      }
    }
  }
}

// What the ring passes on: keys of 12, values of 6.
TEST(LatentAttention, KeysAndValuesTravelOverTheContextRanks) {
  for (const ContextExchange exchange :
       {ContextExchange::kRing, ContextExchange::kAllGather, ContextExchange::kAllToAll}) {
    PlanSpec plan = split(2, true);
    plan.context = 2;
    plan.context_exchange = exchange;
    const Program program = build_program(latent_model(), tests::small_training(), plan, {});
    EXPECT_EQ(check_program(program), std::vector<std::string>{});
    std::int64_t bytes = 0;
    for (const Operation& operation : block_of(program, BlockKind::kForward).operations) {
      const auto* collective = std::get_if<Collective>(&operation.work);
      const bool context = operation.lane == Lane::kContext && operation.origin.layer == 0;
      if (context) bytes += collective->bytes.value();
    }
    const std::int64_t heads = kHeads / 2, own = 2 * kTokens / 2 * heads;  // of a tensor and context rank
    const std::int64_t expected = exchange == ContextExchange::kRing        ? own * (12 + 6)
                                  : exchange == ContextExchange::kAllGather ? 2 * own * (12 + 6)
                                                                            : own * (12 + 12 + 6 + 6);
    EXPECT_EQ(bytes, expected) << static_cast<int>(exchange);
  }
}

/// Windows of the attention kernels in the forward pass, by layer; with `context` ranks one or two each.
std::vector<std::int64_t> windows(int context, ContextExchange exchange, std::int64_t tokens) {
  ModelSpec model = tests::small_model();
  model.window = {.tokens = tokens, .full_every = 4};
  PlanSpec plan;
  plan.context = context;
  if (context > 1) plan.context_exchange = exchange;
  const Program program = build_program(model, tests::small_training(), plan, {});
  EXPECT_EQ(check_program(program), std::vector<std::string>{});
  std::vector<std::int64_t> found;
  for (const Operation& operation : block_of(program, BlockKind::kForward).operations) {
    const auto* compute = std::get_if<Compute>(&operation.work);
    const auto* kernel = compute != nullptr ? std::get_if<hw_models::Attention>(&compute->kernel) : nullptr;
    if (kernel != nullptr) found.push_back(kernel->window);
  }
  return found;
}

TEST(AttentionWindow, EveryFourthLayerSeesAll) {
  EXPECT_THAT(windows(1, {}, 8), ElementsAre(8, 8, 8, 0, 8, 8, 8, 0));
  EXPECT_THAT(windows(2, ContextExchange::kAllToAll, 8), ElementsAre(8, 8, 8, 0, 8, 8, 8, 0));
  EXPECT_THAT(windows(2, ContextExchange::kAllGather, 8), ElementsAre(8, 8, 8, 8, 8, 8, 0, 0, 8, 8, 8, 8, 8, 8, 0, 0));
  EXPECT_THAT(windows(1, {}, 32), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));  // the whole sequence
}

TEST(LatentAttention, UpProjectionsNeedLatents) {
  PlanSpec plan;
  plan.recompute = Recompute::kUpProjection;
  const auto findings = check_plan(tests::small_model(), tests::small_training(), plan, {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().path, "plan.recompute");
  EXPECT_FALSE(findings.front().warning);
  EXPECT_TRUE(check_plan(latent_model(), tests::small_training(), plan, {}).empty());
}

}  // namespace
}  // namespace strategies
