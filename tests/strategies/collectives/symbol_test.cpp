#include "strategies/collectives/symbol.h"

#include <gtest/gtest.h>

namespace strategies {
namespace {

using enum ExchangeKind;

// Three ranks, two values per block.
TEST(Promise, AllToAllTransposesBlocks) {
  const Promise promise({kAllToAll}, 3, 6);
  EXPECT_EQ(text(promise.before(1, StepBuffer::kSource, 4)), "value 4 of ranks 1");
  EXPECT_EQ(text(promise.before(1, StepBuffer::kResult, 4)), "nothing");
  EXPECT_EQ(text(promise.after(2, 3)), "value 5 of ranks 1") << "second value of block 1 = of rank 1's block 2";
}

TEST(Promise, ReductionsCountEveryRankOnce) {
  for (const ExchangeKind kind : {kAllReduce, kReduceScatter, kReduce}) {
    const Promise promise({kind, 2}, 3, 6);
    EXPECT_EQ(text(promise.before(1, StepBuffer::kResult, 0)), "value 0 of ranks 1");
    EXPECT_EQ(text(promise.after(2, 5)), "value 5 of ranks 0 1 2");
    EXPECT_EQ(text(promise.after(0, 5)), kind == kAllReduce ? "value 5 of ranks 0 1 2" : "nothing");
  }
}

TEST(Promise, CopiesKeepTheirOwner) {
  EXPECT_EQ(text(Promise({kAllGather}, 3, 6).before(1, StepBuffer::kResult, 2)), "value 2 of ranks 1");
  EXPECT_EQ(text(Promise({kAllGather}, 3, 6).before(1, StepBuffer::kResult, 4)), "nothing");
  EXPECT_EQ(text(Promise({kAllGather}, 3, 6).after(0, 4)), "value 4 of ranks 2");
  EXPECT_EQ(text(Promise({kBroadcast, 1}, 3, 6).after(0, 4)), "value 4 of ranks 1");
  EXPECT_EQ(text(Promise({kSend, 1, 2}, 3, 6).before(1, StepBuffer::kSource, 4)), "value 4 of ranks 1");
  EXPECT_EQ(text(Promise({kSend, 1, 2}, 3, 6).after(2, 4)), "value 4 of ranks 1");
  EXPECT_EQ(text(Promise({kSend, 1, 2}, 3, 6).after(0, 4)), "nothing");
}

}  // namespace
}  // namespace strategies
