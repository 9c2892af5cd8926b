#include "strategies/transformer/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "strategies/build_program.h"
#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

using hw_models::OptimizerKind;
using ::testing::ElementsAre;

const Buffer& buffer_of(const Role& role, const std::string& name) {
  return *std::ranges::find(role.buffers, name, &Buffer::name);
}

std::vector<Operation> operations_of(const Role& role, const std::string& label) {
  std::vector<Operation> found;
  for (const Block& block : role.blocks) {
    std::ranges::copy_if(block.operations, std::back_inserter(found),
                         [&](const Operation& operation) { return operation.origin.label == label; });
  }
  return found;
}

/// Grouped queries: 8 query heads, 4 key-value heads of 8, two tensor ranks.
TEST(Parameters, PartsOfASplitAxisAreThoseOfTheWholeModel) {
  PlanSpec plan;
  plan.tensor = 2;
  const Program program = build_program(tests::small_model(), tests::small_training(), plan, {});
  const TensorSlice qkv = buffer_of(program.roles[0], "layers.0.attention.qkv.weight").slice;
  EXPECT_THAT(qkv.parts, ElementsAre(64, 32, 32));
  EXPECT_THAT(qkv.shape, ElementsAre(128, 64));
  EXPECT_EQ(qkv.end - qkv.begin, 64);
  EXPECT_THAT(buffer_of(program.roles[0], "layers.0.mlp.up.weight").slice.parts, ElementsAre(128, 128));
}

TEST(Parameters, ACopyOfATiedTableIsTheSameParameter) {
  PlanSpec plan;
  plan.pipeline = 2;
  const Program program = build_program(tests::small_gpt(), tests::small_training(), plan, {});
  for (const char* name : {"head.weight", "gradient:head.weight"}) {
    EXPECT_EQ(buffer_of(program.roles[1], name).slice.parameter, "embedding.weight");
  }
}

/// Three replicas: 64 gains and 1024 x 64 rows of a table do not divide; every parameter is padded by itself.
TEST(Parameters, ZeroPadsEveryParameter) {
  TrainingSpec training = tests::small_training();
  training.global_batch = 12;
  PlanSpec plan;
  plan.data = 3;
  plan.zero = 1;
  Implementation implementation;
  implementation.overlap_gradient_reduce = false;
  implementation.bucket_parameters = 0;
  const Program program = build_program(tests::small_model(), training, plan, implementation);
  const Role& role = program.roles[0];
  std::int64_t padded = 0;
  for (const Buffer& buffer : role.buffers) {
    if (buffer.holds == Holds::kGradients) padded += (buffer.size.value() / 4 + 2) / 3 * 3;
  }
  const std::vector<Operation> reductions = operations_of(role, "reduce-gradients");
  ASSERT_EQ(reductions.size(), 1U);
  EXPECT_EQ(std::get<Collective>(reductions[0].work).bytes.value(), 4 * padded);
  EXPECT_EQ(buffer_of(role, "optimizer").size.value(), 12 * padded / 3);
}

TEST(Parameters, TheOptimizerDecidesItsState) {
  EXPECT_EQ(state_bytes(OptimizerKind::kAdamW, true), 12);
  EXPECT_EQ(state_bytes(OptimizerKind::kAdamW, false), 8);
  EXPECT_EQ(state_bytes(OptimizerKind::kSgd, true), 4);
  EXPECT_EQ(state_bytes(OptimizerKind::kSgd, false), 0);
  TrainingSpec training = tests::small_training();
  training.precision = hw_models::DType::kFp32;
  training.optimizer = OptimizerKind::kSgd;
  const Program program = build_program(tests::small_model(), training, {}, {});
  EXPECT_EQ(buffer_of(program.roles[0], "optimizer").size.value(), 0);
  const auto kernel =
      std::get<hw_models::Optimizer>(std::get<Compute>(operations_of(program.roles[0], "optimizer").at(0).work).kernel);
  EXPECT_EQ(kernel.kind, OptimizerKind::kSgd);
  EXPECT_EQ(kernel.bytes_per_parameter, 12) << "gradient and weight read, weight written";
}

/// Every parameter is read by some operation and its gradient written by one besides the update.
TEST(Parameters, EveryOneIsAnOperand) {
  PlanSpec plan;
  plan.tensor = 2;
  for (const bool fused : {false, true}) {
    Implementation implementation;
    implementation.fused_elementwise = fused;
    for (const ModelSpec& model : {tests::small_gpt(), tests::small_model()}) {
      const Program program = build_program(model, tests::small_training(), plan, implementation);
      const Role& role = program.roles[0];
      for (std::uint32_t i = 0; i < role.buffers.size(); ++i) {
        const Buffer& buffer = role.buffers[i];
        const bool weight = buffer.holds == Holds::kWeights, gradient = buffer.holds == Holds::kGradients;
        if (!weight && !gradient) continue;
        int uses = 0;
        for (const Block& block : role.blocks) {
          if (block.kind == BlockKind::kUpdate) continue;
          for (const Operation& operation : block.operations) {
            const auto& operands = weight ? operation.reads : operation.writes;
            uses += static_cast<int>(std::ranges::count(operands, BufferId{i}));
          }
        }
        EXPECT_GT(uses, 0) << model.name << " " << buffer.name;
      }
    }
  }
}

}  // namespace
}  // namespace strategies
