// Multi-token prediction: what it adds to the last stage.
#include "strategies/transformer/prediction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "strategies/build_program.h"
#include "strategies/program/check.h"
#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

constexpr std::int64_t kTokens = 32, kHidden = 64, kVocabulary = 1000;

ModelSpec predicting(int layers, bool tied = false) {
  ModelSpec model = tests::small_model();
  model.extra_prediction_layers = layers;
  model.tied_embeddings = tied;
  return model;
}

Implementation unpadded() {
  Implementation implementation;
  implementation.vocabulary_multiple = 0;
  return implementation;
}

std::int64_t weights(const Role& role) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : role.buffers) {
    if (buffer.holds == Holds::kWeights && buffer.lifetime == Lifetime::kStatic) bytes += buffer.size.value();
  }
  return bytes / 2;  // bf16
}

TEST(Prediction, StandsOnTheLastStageWithACopyOfTheEmbedding) {
  PlanSpec plan;
  plan.pipeline = 4;
  const auto build = [&](const ModelSpec& model) {
    return build_program(model, tests::small_training(), plan, unpadded());
  };
  const std::int64_t table = kVocabulary * kHidden;
  for (const bool tied : {false, true}) {
    const Program plain = build(predicting(0, tied)), more = build(predicting(2, tied));
    for (std::size_t stage = 0; stage < 3; ++stage) EXPECT_EQ(weights(more.roles[stage]), weights(plain.roles[stage]));
    // A tied head is the copy that the modules read.
    EXPECT_EQ(weights(more.roles[3]) - weights(plain.roles[3]),
              count_parameters(predicting(2)).prediction + (tied ? 0 : table));
  }
}

int count(const Role& role, const std::string& label) {
  int found = 0;
  for (const Action& action : role.schedule) {
    for (const Operation& operation : role.blocks[action.block].operations) found += operation.origin.label == label;
  }
  return found;
}

TEST(Prediction, TheCopysGradientIsSummedWithTheEmbeddings) {
  PlanSpec plan;
  EXPECT_EQ(count(build_program(predicting(1), tests::small_training(), plan, {}).roles[0], "reduce-tied-embedding"),
            0);
  plan.pipeline = 2;
  const Program program = build_program(predicting(1), tests::small_training(), plan, {});
  for (const Role& role : program.roles) EXPECT_EQ(count(role, "reduce-tied-embedding"), 1) << role.name;
  const auto copy = std::ranges::find(program.roles[1].buffers, "prediction.embedding.weight", &Buffer::name);
  ASSERT_NE(copy, program.roles[1].buffers.end());
  EXPECT_EQ(copy->slice.parameter, "embedding.weight");
}

// Of every microbatch: a loss, a table look-up and its gradient more for each module, and a layer.
TEST(Prediction, EveryModuleHasALossOfItsOwn) {
  PlanSpec plan;
  plan.pipeline = 2;
  for (const int modules : {0, 1, 3}) {
    const Program program = build_program(predicting(modules), tests::small_training(), plan, {});
    const Role& last = program.roles[1];
    for (const char* label : {"cross-entropy", "cross-entropy-backward", "lm-head", "lm-head-dgrad", "lm-head-wgrad",
                              "final-norm", "final-norm-backward"}) {
      EXPECT_EQ(count(last, label), 16 * (1 + modules)) << label;
    }
    for (const char* label : {"embedding", "embedding-backward", "prediction-projection", "prediction-join"}) {
      EXPECT_EQ(count(last, label), 16 * modules) << label;
    }
    EXPECT_EQ(count(last, "attention"), 16 * (4 + modules));
    EXPECT_EQ(count(program.roles[0], "embedding"), 16);
  }
}

double matmul_flops(const Program& program) {
  double flops = 0;
  for (const std::uint32_t role : program.role_of_rank) {
    for (const Action& action : program.roles[role].schedule) {
      for (const Operation& operation : program.roles[role].blocks[action.block].operations) {
        const auto* compute = std::get_if<Compute>(&operation.work);
        const auto* matmul = compute != nullptr ? std::get_if<hw_models::Matmul>(&compute->kernel) : nullptr;
        if (matmul != nullptr) flops += 2.0 * static_cast<double>(matmul->m * matmul->n * matmul->k);
      }
    }
  }
  return flops;
}

TEST(Prediction, SpreadsTheModelsFlops) {
  const double tokens = 16.0 * kTokens;
  const double flops = training_flops_per_token(predicting(2), kTokens).dense * tokens;
  for (const int tensor : {1, 2}) {
    for (const int pipeline : {1, 4}) {
      PlanSpec plan;
      plan.tensor = tensor;
      plan.pipeline = pipeline;
      plan.sequence_parallel = tensor > 1;
      EXPECT_DOUBLE_EQ(matmul_flops(build_program(predicting(2), tests::small_training(), plan, unpadded())), flops);
    }
  }
}

// Kept for a microbatch: the layer; the head's input, its norm and the probabilities in fp32; the embedded tokens and
// the two streams side by side, unless they are put together again.
TEST(Prediction, KeepsWhatItsLossNeeds) {
  const auto kept = [](int modules, Recompute recompute) {
    PlanSpec plan;
    plan.pipeline = 2;
    plan.recompute = recompute;
    const Program program = build_program(predicting(modules), tests::small_training(), plan, unpadded());
    std::int64_t bytes = 0;
    for (const Buffer& buffer : program.roles[1].buffers) {
      const bool layer = buffer.name.starts_with("layers.8.") && buffer.name.find("prediction") == std::string::npos;
      if (buffer.lifetime == Lifetime::kMicrobatch && !layer) bytes += buffer.size.value();
    }
    return bytes;
  };
  const std::int64_t stream = 2 * kTokens * kHidden, probabilities = 4 * kTokens * kVocabulary;
  EXPECT_EQ(kept(1, Recompute::kNone) - kept(0, Recompute::kNone), 5 * stream + probabilities);
  EXPECT_EQ(kept(1, Recompute::kFull) - kept(0, Recompute::kFull), 3 * stream + probabilities);
}

// The gradients of the shared tables begin with the last module and end with the model's own head and embedding.
TEST(Prediction, SharedGradientsAreAddedUpWhereNothingOutlivesThePass) {
  PlanSpec plan;
  plan.data = 2;
  plan.zero = 2;
  for (const bool tied : {false, true}) {
    const Program program = build_program(predicting(2, tied), tests::small_training(), plan, {});
    EXPECT_EQ(check_program(program), std::vector<std::string>{});
    const auto& blocks = program.roles[0].blocks;
    const Block& backward = *std::ranges::find(blocks, BlockKind::kBackward, &Block::kind);
    std::vector<bool> accumulates;
    std::vector<BufferId> cleared, scattered;
    for (const Operation& operation : backward.operations) {
      const auto* compute = std::get_if<Compute>(&operation.work);
      if (compute == nullptr) continue;
      if (operation.origin.label == "lm-head-wgrad") {
        accumulates.push_back(std::get<hw_models::Matmul>(compute->kernel).accumulate);
      }
      if (operation.origin.label == "clear-gradients") cleared.push_back(operation.writes.front());
      if (operation.origin.label == "embedding-backward") scattered.push_back(operation.writes.front());
    }
    EXPECT_EQ(accumulates, (std::vector<bool>{false, true, true}));
    EXPECT_EQ(cleared.size(), tied ? 0u : 1u);
    ASSERT_EQ(scattered.size(), 3u);
    for (const BufferId buffer : scattered) EXPECT_EQ(buffer, scattered.front());
  }
}

}  // namespace
}  // namespace strategies
