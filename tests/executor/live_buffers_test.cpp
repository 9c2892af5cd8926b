#include "executor/live_buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace executor {
namespace {

using strategies::BufferId;
using strategies::Holds;
using strategies::Lifetime;
using strategies::Operation;

constexpr BufferId kWeight{0}, kGradient{1}, kGradient2{2}, kActivation{3}, kTemporary{4};

strategies::Role role() {
  strategies::Role role;
  role.buffers = {{"weight", hw_models::Bytes(16), Holds::kWeights, Lifetime::kStatic, {}},
                  {"gradient", hw_models::Bytes(12), Holds::kGradients, Lifetime::kStatic, {}},
                  {"gradient 2", hw_models::Bytes(16), Holds::kGradients, Lifetime::kStatic, {}},
                  {"activation", hw_models::Bytes(64), Holds::kActivations, Lifetime::kMicrobatch, {}},
                  {"temporary", hw_models::Bytes(64), Holds::kWorkspace, Lifetime::kBlock, {}}};
  return role;
}

Operation operation(std::vector<BufferId> reads, std::vector<BufferId> writes, std::vector<BufferId> allocates,
                    std::vector<BufferId> frees) {
  Operation operation;
  operation.reads = std::move(reads);
  operation.writes = std::move(writes);
  operation.allocates = std::move(allocates);
  operation.frees = std::move(frees);
  operation.origin.label = "work";
  return operation;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

class LiveBuffersTest : public testing::Test {
 protected:
  strategies::Role role_ = role();
  Arena arena_;
  LiveBuffers buffers_{role_, arena_};
};

TEST_F(LiveBuffersTest, StaticBuffersAreZeroAndGradientsLieTogether) {
  EXPECT_THAT(buffers_.memory(kWeight), testing::Each(0.0F));
  EXPECT_EQ(buffers_.memory(kWeight).size(), 4U);
  EXPECT_EQ(buffers_.memory(kGradient).data() + 3, buffers_.memory(kGradient2).data());
}

TEST_F(LiveBuffersTest, EveryMicrobatchHasItsOwnInstance) {
  const auto first = buffers_.issue(operation({}, {kActivation}, {kActivation}, {}), 0);
  const auto second = buffers_.issue(operation({}, {kActivation}, {kActivation}, {}), 1);
  buffers_.start(first);
  buffers_.start(second);
  EXPECT_NE(first.writes[0]->floats().data(), second.writes[0]->floats().data());
  const auto reader = buffers_.issue(operation({kActivation}, {}, {}, {kActivation}), 0);
  EXPECT_EQ(reader.reads[0], first.writes[0]);
}

TEST_F(LiveBuffersTest, MemoryIsReturnedWhenTheLastUserIsDone) {
  const std::size_t before = arena_.in_use();
  auto writer = std::optional(buffers_.issue(operation({}, {kActivation}, {kActivation}, {}), 0));
  EXPECT_EQ(arena_.in_use(), before) << "issued only";
  buffers_.start(*writer);
  EXPECT_EQ(arena_.in_use(), before + 64);
  auto reader = std::optional(buffers_.issue(operation({kActivation}, {}, {}, {kActivation}), 0));
  writer.reset();
  EXPECT_EQ(arena_.in_use(), before + 64) << "freed, but in use";
  reader.reset();
  EXPECT_EQ(arena_.in_use(), before);
}

TEST_F(LiveBuffersTest, UseOutsideALifeIsNamed) {
  const auto uses = [&](const Operation& o) { return message_of([&] { buffers_.issue(o, 0); }); };
  EXPECT_EQ(uses(operation({kActivation}, {}, {}, {})),
            "operation 'work' uses buffer 'activation', which is not alive");
  EXPECT_EQ(uses(operation({}, {}, {}, {kTemporary})), "operation 'work' uses buffer 'temporary', which is not alive");
  EXPECT_EQ(uses(operation({}, {kActivation}, {kActivation}, {})), "");
  EXPECT_EQ(uses(operation({}, {kActivation}, {kActivation}, {})),
            "operation 'work' allocates buffer 'activation', which is alive");
}

TEST_F(LiveBuffersTest, ABlockEndsItsOwnBuffersOnly) {
  buffers_.issue(operation({}, {kActivation, kTemporary}, {kActivation, kTemporary}, {}), 0);
  buffers_.end_block();
  EXPECT_EQ(message_of([&] { buffers_.issue(operation({kTemporary}, {}, {}, {}), 0); }),
            "operation 'work' uses buffer 'temporary', which is not alive");
  EXPECT_NO_THROW(buffers_.issue(operation({kActivation, kWeight}, {}, {}, {}), 0));
}

TEST_F(LiveBuffersTest, MemoryIsNotThereBeforeTheStart) {
  const auto operands = buffers_.issue(operation({}, {kActivation}, {kActivation}, {}), 0);
  EXPECT_THROW(operands.writes[0]->floats(), std::logic_error);
}

}  // namespace
}  // namespace executor
