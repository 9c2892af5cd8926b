#include "strategies/transformer/layer_parts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

/// Bytes moved by the elementwise passes of layer 0 in one microbatch, by name.
std::map<std::string, std::int64_t> passes(const ModelSpec& model, const Implementation& implementation) {
  PlanSpec plan;
  plan.micro_batch = 2;
  const Program program = build_program(model, tests::small_training(), plan, implementation);
  std::map<std::string, std::int64_t> bytes;
  for (const Block& block : program.roles.front().blocks) {
    std::map<std::string, std::int64_t> here;
    for (const Operation& operation : block.operations) {
      const auto* kernel = std::get_if<Compute>(&operation.work);
      if (kernel == nullptr || operation.origin.layer != 0) continue;
      const auto* pass = std::get_if<hw_models::Elementwise>(&kernel->kernel);
      if (pass == nullptr) continue;
      const std::string& label = operation.origin.label;
      const std::string name = pass->backward && !label.ends_with("-backward") ? label + "-backward" : label;
      here[name] += pass->bytes_read + pass->bytes_written;
    }
    for (const auto& [name, sum] : here) bytes[name] = sum;  // blocks of one kind move the same
  }
  return bytes;
}

constexpr std::int64_t kElement = 2;  // bf16

// 2 x 32 tokens. Forward: q, k, v gathered (read, write); the context zeroed and scattered (write, read, write).
// Backward: the context's gradient gathered; those of q, k, v zeroed, scattered, joined.
TEST(LayerParts, PackedBatchesAreGatheredAndPutBack) {
  const ModelSpec model = tests::small_model();
  const std::int64_t tokens = 64;
  const std::int64_t query = model.heads * model.head_dim;
  const std::int64_t qkv = query + 2 * model.kv_heads * model.head_dim;
  Implementation implementation;
  EXPECT_EQ(passes(model, implementation).count("unpad"), 0u);
  implementation.unpads_attention = true;
  const auto moved = passes(model, implementation);
  EXPECT_EQ(moved.at("unpad"), 2 * tokens * qkv * kElement);
  EXPECT_EQ(moved.at("pad"), 3 * tokens * query * kElement);
  EXPECT_EQ(moved.at("unpad-backward"), 2 * tokens * query * kElement);
  EXPECT_EQ(moved.at("pad-backward"), 3 * tokens * qkv * kElement);
  EXPECT_EQ(moved.at("join-gradients-backward"), 2 * tokens * qkv * kElement);
}

// Two norms a layer. Forward, of 2-byte elements: 2+4, 4+4, 4, 4+4, 4+2, 2+2 bytes, of which the norm's own kernel
// counts 2+2. Backward: 84 bytes less 10. The rotation: 2+4, 4+4, 4+2 instead of 2+2.
TEST(LayerParts, ComposedPassesMoveWhatEveryKernelOfTheChainDoes) {
  const ModelSpec model = tests::small_model();
  const std::int64_t stream = 64 * model.hidden;
  const std::int64_t rotated = 64 * (model.heads + model.kv_heads) * model.head_dim;
  Implementation implementation;
  EXPECT_EQ(passes(model, implementation).count("norm-passes"), 0u);
  EXPECT_EQ(passes(model, implementation).at("rotary"), 4 * rotated);
  implementation.composed_passes = true;
  const auto moved = passes(model, implementation);
  EXPECT_EQ(moved.at("norm-passes"), 2 * stream * (6 + 8 + 4 + 8 + 6 + 4 - 4));
  EXPECT_EQ(moved.at("norm-passes-backward"), 2 * stream * (84 - 10));
  EXPECT_EQ(moved.at("rotary"), 20 * rotated);
  EXPECT_EQ(moved.at("rotary-backward"), 20 * rotated);
}

// Heads 8 + 2 x 4 of 8 elements. Forward: the projection cut into heads, keys joined with values, both put side by
// side; backward: joined, put into the projection's gradient.
TEST(LayerParts, CopiesAroundTheRotationArePartOfIt) {
  const ModelSpec model = tests::small_model();
  const std::int64_t qkv = 64 * 128, pair = 64 * 64;
  Implementation implementation;
  const std::int64_t rotation = passes(model, implementation).at("rotary");
  implementation.copies_keys_and_values = true;
  const auto moved = passes(model, implementation);
  EXPECT_EQ(moved.at("rotary"), rotation + 2 * kElement * (qkv + pair + pair));
  EXPECT_EQ(moved.at("rotary-backward"), rotation + 2 * kElement * (pair + qkv));
}

// PyTorch has one kernel for LayerNorm.
TEST(LayerParts, LayerNormIsNoChain) {
  Implementation implementation;
  implementation.composed_passes = true;
  EXPECT_EQ(passes(tests::small_gpt(), implementation).count("norm-passes"), 0u);
}

}  // namespace
}  // namespace strategies
