// What narrow operands cost: bytes of passes, of messages and of memory, counted by hand for every recipe.
#include "strategies/transformer/narrow_operands.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <variant>

#include "strategies/build_program.h"
#include "strategies/program/check.h"
#include "tests/programs/small_plans.h"
#include "tests/sanitized.h"

namespace strategies {
namespace {

struct Setting {
  const ScalingRecipe* recipe;
  bool any_layout, keeps;
  NarrowWeights weights = NarrowWeights::kBeside;
  bool narrow_gather = false;
  int wide_layers = 0;

  double f() const { return hw_models::info(recipe->format).bytes; }
  double r() const { return recipe->reads_twice ? 2 : 1; }
  bool transposes() const { return !recipe->two_directions && !any_layout; }
  double copies() const { return recipe->two_directions || transposes() ? 1 : 0; }
  std::string text() const {
    return std::string(recipe->name) + (any_layout ? " any layout" : "") + (keeps ? " keeps narrow" : " keeps wide");
  }
};

Program built(const Setting& setting, const PlanSpec& plan) {
  TrainingSpec training = tests::small_training();
  training.precision = setting.recipe->format;
  training.scaling = setting.recipe->scaling;
  Implementation implementation;
  implementation.low_precision = {
      .recipes = {{setting.recipe->scaling, setting.weights, setting.narrow_gather, setting.wide_layers}},
      .keeps_narrow = setting.keeps,
      .any_layout = setting.any_layout};
  return build_program(tests::small_model(), training, plan, implementation);
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const ScalingRecipe& recipe : kScalingRecipes) {
    for (const bool any_layout : {false, true}) {
      for (const bool keeps : {true, false}) all.push_back({&recipe, any_layout, keeps});
    }
  }
  return all;
}

/// Of the passes that narrow or transpose in layer 0, one microbatch.
double pass_bytes(const Program& program) {
  double bytes = 0;
  const Role& role = program.roles.front();
  for (const std::uint32_t action : {0U, 1U}) {  // its forward and its backward
    for (const Operation& operation : role.blocks[role.schedule[action].block].operations) {
      const auto* compute = std::get_if<Compute>(&operation.work);
      const auto* pass = compute ? std::get_if<hw_models::Elementwise>(&compute->kernel) : nullptr;
      const std::string& label = operation.origin.label;
      if (pass == nullptr || operation.origin.layer != 0) continue;
      if (!label.ends_with("-narrow") && !label.ends_with("-transpose")) continue;
      bytes += static_cast<double>(pass->bytes_read + pass->bytes_written);
    }
  }
  return bytes;
}

std::int64_t sequence_bytes(const Program& program) {
  std::int64_t bytes = 0;
  const Role& role = program.roles.front();
  for (const std::uint32_t action : {0U, 1U}) {
    for (const Operation& operation : role.blocks[role.schedule[action].block].operations) {
      const auto* collective = std::get_if<Collective>(&operation.work);
      if (collective && operation.origin.layer == 0 && operation.origin.label == "gather-sequence") {
        bytes += collective->bytes.value();
      }
    }
  }
  return bytes;
}

std::int64_t held(const Program& program, const std::string& part) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : program.roles.front().buffers) {
    if (buffer.name.find(part) != std::string::npos && buffer.lifetime != Lifetime::kBlock)
      bytes += buffer.size.value();
  }
  return bytes;
}

// Small model: 32 tokens; columns of the products' inputs 64, 64 (context), 64, 128, of their outputs 128 (q, k, v),
// 64, 256 (gate and up), 64. A pass over n elements: 2 n r read, f n (1 + copies) written.
constexpr double kTokens = 32, kNormed = 2 * 64, kLocal = 64 + 128, kGradients = 128 + 64 + 256 + 64;

TEST(NarrowOperands, PassesMoveTheBytesThatTheRecipeNeeds) {
  for (const Setting& s : settings()) {
    const double f = s.f(), write = f * (1 + s.copies());
    const double pass = 2 * s.r() + write;
    double expected = kTokens * (kLocal + kGradients) * pass;
    if (!s.keeps) {  // inputs once in each direction, without copies
      expected = kTokens * (kGradients * pass + 2 * (kNormed + kLocal) * (2 * s.r() + f));
    } else if (s.recipe->fused_norm) {  // the norm has written narrow values; their transpose is missing
      expected += kTokens * kNormed * 2 * f * s.copies();
    } else {
      expected += kTokens * kNormed * pass;
    }
    EXPECT_DOUBLE_EQ(pass_bytes(built(s, PlanSpec{})), expected) << s.text();
  }
}

// Two gathers forward, two of the same inputs backward, two of gradients, which take both copies along where those are
// not transposes of each other.
TEST(NarrowOperands, SequencesAreGatheredNarrow) {
  PlanSpec plan;
  plan.tensor = 2;
  plan.sequence_parallel = true;
  for (const Setting& s : settings()) {
    const auto once = static_cast<std::int64_t>(std::ceil(s.f() * kTokens * 64));
    const Program program = built(s, plan);
    EXPECT_EQ(sequence_bytes(program), once * (s.recipe->two_directions ? 8 : 6)) << s.text();
    EXPECT_EQ(check_program(program), std::vector<std::string>{}) << s.text();
  }
}

// Kept per layer and token: the narrow inputs of four products instead of wide ones; the context is kept wide as well,
// for attention.
TEST(NarrowOperands, KeptActivationsAreNarrowWhereTheStackKeepsThemSo) {
  for (const Setting& s : settings()) {
    const Program program = built(s, PlanSpec{});
    const double wide = 2 * kTokens, kept = s.keeps ? s.f() * kTokens : wide;
    EXPECT_EQ(held(program, "layers.0.attention.normed"), static_cast<std::int64_t>(std::ceil(kept * 64)));
    EXPECT_EQ(held(program, "layers.0.mlp.activated"), static_cast<std::int64_t>(std::ceil(kept * 128)));
    EXPECT_EQ(held(program, "layers.0.attention.context"), static_cast<std::int64_t>(wide * 64));
    EXPECT_EQ(held(program, "layers.0.attention.narrow-context"),
              s.keeps ? static_cast<std::int64_t>(std::ceil(kept * 64)) : 0);
  }
}

// 8 layers of 64 x (128 + 64 + 256 + 128) weights.
constexpr std::int64_t kLayerWeights = 64 * (128 + 64 + 256 + 128);

TEST(NarrowOperands, WeightsAreHeldAsTheRecipeSays) {
  for (Setting s : settings()) {
    for (const NarrowWeights weights : {NarrowWeights::kBeside, NarrowWeights::kAlone, NarrowWeights::kEachUse}) {
      s.weights = weights;
      s.wide_layers = 1;
      const Program program = built(s, PlanSpec{});
      const double beside = weights == NarrowWeights::kBeside ? 1 : 0;
      const double copies = weights == NarrowWeights::kEachUse ? 0 : beside + s.copies();
      EXPECT_EQ(held(program, "narrow-weights"),
                static_cast<std::int64_t>(std::ceil(6 * kLayerWeights * s.f()) * copies));
      const bool alone = weights == NarrowWeights::kAlone;
      for (const auto& [layer, f] :
           {std::pair{"layers.0", 2.0}, std::pair{"layers.1", alone ? s.f() : 2.0}, std::pair{"layers.7", 2.0}}) {
        std::int64_t bytes = 0;
        for (const Buffer& buffer : program.roles.front().buffers) {
          if (buffer.holds == Holds::kWeights && buffer.name == std::string(layer) + ".mlp.down.weight") {
            bytes += buffer.size.value();
          }
        }
        EXPECT_EQ(bytes, static_cast<std::int64_t>(std::ceil(64 * 128 * f))) << s.text() << layer;
      }
    }
  }
}

// ZeRO 1 with n = 2: the layers' weights travel in f bytes, everything else in bf16.
TEST(NarrowOperands, ParametersAreGatheredNarrowWhereTheRecipeSays) {
  PlanSpec plan;
  plan.data = 2;
  plan.zero = 1;
  const auto gathered = [&](const Setting& setting) {
    std::int64_t bytes = 0;
    const Role role = built(setting, plan).roles.front();
    for (const Operation& operation : role.blocks[role.schedule.back().block].operations) {
      const auto* collective = std::get_if<Collective>(&operation.work);
      if (collective && operation.origin.label == "gather-parameters") bytes += collective->bytes.value();
    }
    return bytes;
  };
  for (Setting s : settings()) {
    const std::int64_t wide = gathered(s);
    s.narrow_gather = true;
    EXPECT_EQ(wide - gathered(s),
              8 * 2 * kLayerWeights - static_cast<std::int64_t>(std::ceil(8 * kLayerWeights * s.f())));
  }
}

// The end layers' products, and the head's, stay wide.
TEST(NarrowOperands, WideLayersAreWide) {
  Setting setting{&kScalingRecipes.front(), false, true};
  setting.wide_layers = 2;
  const Program program = built(setting, PlanSpec{});
  for (const Block& block : program.roles.front().blocks) {
    for (const Operation& operation : block.operations) {
      const auto* compute = std::get_if<Compute>(&operation.work);
      const auto* matmul = compute ? std::get_if<hw_models::Matmul>(&compute->kernel) : nullptr;
      if (matmul == nullptr) continue;
      const bool narrow = operation.origin.layer >= 2 && operation.origin.layer < 6;
      EXPECT_EQ(matmul->dtype, narrow ? hw_models::DType::kFp8 : hw_models::DType::kBf16) << operation.origin.label;
    }
  }
}

// A stack that keeps no narrow weights narrows them in front of the product forward and the one back to the input.
TEST(NarrowOperands, WeightsOfEachUseArePassesOfTheirOwn) {
  Setting setting{&kScalingRecipes[1], true, false};
  const double without = pass_bytes(built(setting, PlanSpec{}));
  setting.weights = NarrowWeights::kEachUse;
  EXPECT_DOUBLE_EQ(pass_bytes(built(setting, PlanSpec{})) - without, 2.0 * kLayerWeights * (2 * 2 + 1));
}

// All plans of a small model, with the heaviest machinery: every check of the Program holds.
TEST(NarrowOperands, EveryPlanIsWellFormed) {
  for (const tests::SmallPlan& small : tests::sampled(tests::small_plans())) {
    if (small.plan.recompute == Recompute::kNone && small.plan.tensor == 1) continue;
    for (const bool keeps : {true, false}) {
      TrainingSpec training = tests::small_training();
      training.precision = hw_models::DType::kNvfp4;
      training.scaling = Scaling::kTwoLevel;
      Implementation implementation = small.implementation;
      const NarrowWeights weights = keeps ? NarrowWeights::kAlone : NarrowWeights::kEachUse;
      implementation.low_precision = {.recipes = {{Scaling::kTwoLevel, weights, keeps}}, .keeps_narrow = keeps};
      const Program program = build_program(tests::small_model(), training, small.plan, implementation);
      EXPECT_EQ(check_program(program), std::vector<std::string>{}) << small.name;
    }
  }
}

// fp8 with delayed scaling: inputs and output gradients of a layer's products are cast first, but those behind a norm,
// which writes fp8 itself; the LM head stays bf16.
TEST(NarrowOperands, ProductsTakeThem) {
  TrainingSpec training = tests::small_training();
  training.precision = hw_models::DType::kFp8;
  Implementation implementation;
  implementation.low_precision.any_layout = false;  // Hopper
  const Role role = build_program(tests::small_model(), training, PlanSpec{}, implementation).roles.front();
  int casts = 0, transposes = 0, narrow = 0, wide = 0;
  for (const Block& block : role.blocks) {
    for (const Operation& operation : block.operations) {
      const auto* compute = std::get_if<Compute>(&operation.work);
      if (!compute) continue;
      if (const auto* matmul = std::get_if<hw_models::Matmul>(&compute->kernel)) {
        const bool head = operation.origin.label.starts_with("lm-head");
        EXPECT_EQ(matmul->dtype, head ? hw_models::DType::kBf16 : hw_models::DType::kFp8) << operation.origin.label;
        ++(head ? wide : narrow);
      }
      if (operation.origin.label.ends_with("-narrow")) ++casts;
      if (operation.origin.label.ends_with("-transpose")) ++transposes;
    }
  }
  // Per layer 4 products forward and 8 backward; 2 casts and 2 transposes behind norms forward, 4 casts backward; head
  // 1 and 2.
  EXPECT_EQ(narrow, 8 * 12);
  EXPECT_EQ(casts, 8 * 6);
  EXPECT_EQ(transposes, 8 * 2);
  EXPECT_EQ(wide, 3);
}

}  // namespace
}  // namespace strategies
