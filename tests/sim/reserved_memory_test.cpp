#include "sim/reserved_memory.h"

#include <gtest/gtest.h>

#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using hw_models::Bytes;
using strategies::BlockKind;
using strategies::Buffer;
using strategies::Holds;
using strategies::Lane;
using strategies::Lifetime;
using strategies::Operation;
using strategies::Role;

constexpr std::int64_t kMib = 1 << 20;
constexpr Bytes kUnlimited(1LL << 50);

Buffer buffer(const char* name, std::int64_t mib, Lifetime lifetime) {
  return {name, Bytes(mib * kMib), Holds::kWorkspace, lifetime, {}};
}

/// Weights of 40 MiB. A forward keeps 12 MiB; on the way a tensor collective reads 16 MiB of partial sums and frees
/// them.
Role pipelined(const std::vector<std::pair<char, int>>& schedule) {
  Role role;
  role.buffers = {buffer("weights", 40, Lifetime::kStatic), buffer("kept", 12, Lifetime::kMicrobatch),
                  buffer("partial", 16, Lifetime::kBlock)};
  Operation product = tests::timed(Lane::kCompute, 1);
  product.allocates = {{2}};
  Operation reduce = tests::timed_collective(Lane::kTensor, 1, 0);
  reduce.frees = {{2}};
  Operation last = tests::timed(Lane::kCompute, 1);
  last.allocates = {{1}};
  Operation backward = tests::timed(Lane::kCompute, 1);
  backward.frees = {{1}};
  role.blocks = {{.kind = BlockKind::kForward, .operations = {product, reduce, last}},
                 {.kind = BlockKind::kBackward, .operations = {backward}}};
  for (const auto& [kind, microbatch] : schedule) role.schedule.push_back({kind == 'F' ? 0u : 1u, microbatch, {}});
  return role;
}

const std::vector<std::pair<char, int>> kOne{{'F', 0}, {'B', 0}, {'F', 1}, {'B', 1}};
const std::vector<std::pair<char, int>> kThree{{'F', 0}, {'F', 1}, {'F', 2}, {'B', 0}, {'F', 3},
                                               {'B', 1}, {'F', 4}, {'B', 2}, {'B', 3}, {'B', 4}};

// Partial sums come free for what is kept: weights 40, one segment of 16. Three in flight: the first partial sums hold
// the first 12, the next ones need 16 anew each time: 40 + 3 x 16.
TEST(ReservedMemory, FreedPiecesServeTheNextRequest) {
  EXPECT_EQ(reserved_memory(pipelined(kOne), 1, kUnlimited, false), Bytes(56 * kMib));
  EXPECT_EQ(reserved_memory(pipelined(kThree), 3, kUnlimited, false), Bytes(88 * kMib));
}

// Nothing is free before the backward: 40 + 16 + 12. Three in flight: two forwards leave 16 + 12 each, the third finds
// the 16 of the first and keeps 12 more.
TEST(ReservedMemory, DeferredFreesServeTheLastForwardInARow) {
  EXPECT_EQ(reserved_memory(pipelined(kOne), 1, kUnlimited, true), Bytes(68 * kMib));
  EXPECT_EQ(reserved_memory(pipelined(kThree), 3, kUnlimited, true), Bytes((40 + 2 * 28 + 12) * kMib));
}

// Microbatches beyond those that fill the pipeline change nothing.
TEST(ReservedMemory, LongSchedulesRepeatThemselves) {
  std::vector<std::pair<char, int>> schedule{{'F', 0}, {'F', 1}};
  for (int i = 2; i < 50; ++i) {
    schedule.push_back({'F', i});
    schedule.push_back({'B', i - 2});
  }
  schedule.push_back({'B', 48});
  schedule.push_back({'B', 49});
  for (const bool defers : {false, true}) {
    EXPECT_EQ(reserved_memory(pipelined(schedule), 3, kUnlimited, defers),
              reserved_memory(pipelined(kThree), 3, kUnlimited, defers));
  }
}

}  // namespace
}  // namespace sim
