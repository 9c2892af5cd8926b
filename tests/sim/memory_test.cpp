#include "sim/memory.h"

#include <gtest/gtest.h>

#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using hw_models::Bytes;
using strategies::BufferId;
using strategies::Holds;
using strategies::Lane;
using strategies::Lifetime;
using strategies::Operation;
using strategies::Program;

Operation allocating(std::vector<BufferId> allocates, std::vector<BufferId> frees) {
  Operation operation = tests::timed(Lane::kCompute, 1);
  operation.allocates = std::move(allocates);
  operation.frees = std::move(frees);
  return operation;
}

Bytes at_peak(const RoleMemory& memory, Holds holds) { return memory.at_peak[static_cast<std::size_t>(holds)]; }

Program one_role(std::vector<strategies::Buffer> buffers) {
  Program program = tests::empty_program(1, 1, 1);
  program.roles[0].buffers = std::move(buffers);
  return program;
}

TEST(Memory, StaticBuffersAreAlwaysThere) {
  Program program = one_role({{"w", Bytes(100), Holds::kWeights, Lifetime::kStatic, {}},
                              {"g", Bytes(40), Holds::kGradients, Lifetime::kStatic, {}}});
  program.roles[0].blocks = {{.operations = {allocating({}, {})}}};
  program.roles[0].schedule = {{0, 0, {}}};
  const RoleMemory memory = replay_memory(program).front();
  EXPECT_EQ(memory.peak, Bytes(140));
  EXPECT_EQ(at_peak(memory, Holds::kWeights), Bytes(100));
  EXPECT_EQ(at_peak(memory, Holds::kGradients), Bytes(40));
  EXPECT_EQ(memory.most_microbatches, 0);
}

// a (8) and b (5) together, then b freed after c (20) was allocated: 33; then c alone with a: 28.
TEST(Memory, FreesHappenAfterTheAllocationsOfTheSameOperation) {
  Program program = one_role({{"a", Bytes(8), Holds::kActivations, Lifetime::kMicrobatch, {}},
                              {"b", Bytes(5), Holds::kWorkspace, Lifetime::kBlock, {}},
                              {"c", Bytes(20), Holds::kWorkspace, Lifetime::kBlock, {}}});
  program.roles[0].blocks = {
      {.operations = {allocating({{0}, {1}}, {}), allocating({{2}}, {{1}}), allocating({{1}}, {{1}, {2}, {0}})}}};
  program.roles[0].schedule = {{0, 0, {}}, {0, 1, {}}};
  const RoleMemory memory = replay_memory(program).front();
  EXPECT_EQ(memory.peak, Bytes(33));
  EXPECT_EQ(at_peak(memory, Holds::kActivations), Bytes(8));
  EXPECT_EQ(at_peak(memory, Holds::kWorkspace), Bytes(25));
  EXPECT_EQ(memory.most_microbatches, 1);
}

TEST(Memory, MicrobatchesHaveTheirOwnInstances) {
  Program program = one_role({{"a", Bytes(8), Holds::kActivations, Lifetime::kMicrobatch, {}},
                              {"b", Bytes(1), Holds::kActivations, Lifetime::kMicrobatch, {}}});
  program.roles[0].blocks = {{.operations = {allocating({{0}, {1}}, {})}},
                             {.operations = {allocating({}, {{0}, {1}})}}};
  program.roles[0].schedule = {{0, 0, {}}, {0, 1, {}}, {1, 0, {}}, {0, 2, {}},
                               {0, 3, {}}, {1, 3, {}}, {1, 2, {}}, {1, 1, {}}};
  const RoleMemory memory = replay_memory(program).front();
  EXPECT_EQ(memory.peak, Bytes(27));
  EXPECT_EQ(memory.most_microbatches, 3);
}

// Freed before it is allocated within a step: only the second step shows that it spans the boundary (8 + 6).
TEST(Memory, ReportsASteadyStep) {
  Program program = one_role({{"gathered", Bytes(8), Holds::kWeights, Lifetime::kMicrobatch, {}},
                              {"other", Bytes(6), Holds::kWorkspace, Lifetime::kBlock, {}}});
  program.roles[0].blocks = {{.operations = {allocating({{1}}, {{1}}), allocating({}, {{0}}), allocating({{0}}, {})}}};
  program.roles[0].schedule = {{0, -1, {}}};
  EXPECT_EQ(replay_memory(program).front().peak, Bytes(14));
}

TEST(Memory, BlockBuffersNobodyFreesEndWithTheirBlock) {
  Program program = one_role({{"a", Bytes(8), Holds::kWorkspace, Lifetime::kBlock, {}},
                              {"b", Bytes(6), Holds::kWorkspace, Lifetime::kBlock, {}}});
  program.roles[0].blocks = {{.operations = {allocating({{0}}, {})}}, {.operations = {allocating({{1}}, {})}}};
  program.roles[0].schedule = {{0, 0, {}}, {1, 0, {}}};
  EXPECT_EQ(replay_memory(program).front().peak, Bytes(8));
}

}  // namespace
}  // namespace sim
