#include "strategies/transformer/stage.h"

#include <gtest/gtest.h>

#include "tests/programs/small_plans.h"

namespace strategies {
namespace {

std::vector<std::pair<std::string, std::int64_t>> held_by_libraries(const Implementation& implementation,
                                                                    const PlanSpec& plan) {
  std::vector<std::pair<std::string, std::int64_t>> found;
  const Program program = build_program(tests::small_model(), tests::small_training(), plan, implementation);
  for (const Buffer& buffer : program.roles.front().buffers) {
    if (buffer.holds == Holds::kWorkspace && buffer.lifetime == Lifetime::kStatic) {
      found.emplace_back(buffer.name, buffer.size.value());
    }
  }
  return found;
}

// Two buffers of b s h 2 = 2 x 32 x 64 x 2 bytes, whole on every tensor rank, and the libraries' workspace.
TEST(Stage, PersistentBuffersOfASequenceParallelStage) {
  Implementation implementation;
  implementation.persistent_gathers = true;
  implementation.library_workspace = hw_models::Bytes(1 << 20);
  PlanSpec plan;
  plan.micro_batch = 2;
  const std::pair<std::string, std::int64_t> workspace{"library-workspace", 1 << 20};
  using Expected = std::vector<std::pair<std::string, std::int64_t>>;
  EXPECT_EQ(held_by_libraries(implementation, plan), (Expected{workspace}));
  plan.tensor = 4;
  EXPECT_EQ(held_by_libraries(implementation, plan), (Expected{workspace}));
  plan.sequence_parallel = true;
  EXPECT_EQ(held_by_libraries(implementation, plan),
            (Expected{workspace, {"gathered-column", 8192}, {"gathered-row", 8192}}));
  EXPECT_EQ(held_by_libraries({}, plan), Expected{});
}

// The layers gather into the two buffers; nothing but the embedding's gradient is gathered elsewhere.
TEST(Stage, LayersGatherIntoThePersistentBuffers) {
  Implementation implementation;
  implementation.persistent_gathers = true;
  PlanSpec plan;
  plan.tensor = 4;
  plan.sequence_parallel = true;
  const Program program = build_program(tests::small_model(), tests::small_training(), plan, implementation);
  const Role& role = program.roles.front();
  int layers = 0;
  for (const Block& block : role.blocks) {
    for (const Operation& operation : block.operations) {
      if (operation.origin.label != "gather-sequence" || operation.origin.layer < 0) continue;
      ++layers;
      ASSERT_EQ(operation.writes.size(), 1u);
      const std::string& into = role.buffers[operation.writes.front().value].name;
      EXPECT_TRUE(into == "gathered-column" || into == "gathered-row") << into;
      EXPECT_TRUE(operation.allocates.empty());
    }
  }
  EXPECT_GE(layers, 8 * 6);  // 2 forward, 4 backward a layer
}

}  // namespace
}  // namespace strategies
