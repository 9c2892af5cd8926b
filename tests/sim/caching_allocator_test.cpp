#include "sim/caching_allocator.h"

#include <gtest/gtest.h>

namespace sim {
namespace {

using hw_models::Bytes;

constexpr std::int64_t kMib = 1 << 20;
constexpr Bytes kUnlimited(1LL << 50);

TEST(CachingAllocator, SegmentsFollowTheSizeOfTheRequest) {
  struct Case {
    std::int64_t request, segment;
  };
  for (const Case& c :
       {Case{1, 2 * kMib}, Case{kMib, 2 * kMib}, Case{kMib + 1, 20 * kMib}, Case{10 * kMib - 512, 20 * kMib},
        Case{10 * kMib, 10 * kMib}, Case{10 * kMib + 1, 12 * kMib}, Case{100 * kMib, 100 * kMib}}) {
    CachingAllocator allocator(kUnlimited);
    allocator.allocate(Bytes(c.request));
    EXPECT_EQ(allocator.reserved(), Bytes(c.segment)) << c.request;
  }
}

// 20 MiB hold ten pieces of 2 MiB; the eleventh needs a segment of its own.
TEST(CachingAllocator, SharedSegmentsAreSplit) {
  CachingAllocator allocator(kUnlimited);
  for (int i = 0; i < 10; ++i) allocator.allocate(Bytes(2 * kMib));
  EXPECT_EQ(allocator.reserved(), Bytes(20 * kMib));
  allocator.allocate(Bytes(2 * kMib));
  EXPECT_EQ(allocator.reserved(), Bytes(40 * kMib));
}

// Pools do not serve each other: 1 MiB of free large memory is there, a small request takes a segment of 2 MiB.
TEST(CachingAllocator, SmallAndLargeRequestsHavePoolsOfTheirOwn) {
  CachingAllocator allocator(kUnlimited);
  allocator.free(allocator.allocate(Bytes(16 * kMib)));
  allocator.allocate(Bytes(kMib));
  EXPECT_EQ(allocator.reserved(), Bytes(18 * kMib));
}

TEST(CachingAllocator, FreedNeighboursJoin) {
  CachingAllocator allocator(kUnlimited);
  const auto whole = allocator.allocate(Bytes(30 * kMib));
  allocator.free(whole);
  const auto first = allocator.allocate(Bytes(10 * kMib));
  const auto second = allocator.allocate(Bytes(10 * kMib));
  const auto third = allocator.allocate(Bytes(10 * kMib));
  EXPECT_EQ(allocator.reserved(), Bytes(30 * kMib));
  allocator.free(first);
  allocator.free(third);
  allocator.free(second);
  allocator.allocate(Bytes(30 * kMib));
  EXPECT_EQ(allocator.reserved(), Bytes(30 * kMib));
}

// 12 + 12 MiB are free, but in two segments: 24 MiB need a third.
TEST(CachingAllocator, SegmentsNeverJoin) {
  CachingAllocator allocator(kUnlimited);
  const auto first = allocator.allocate(Bytes(12 * kMib));
  const auto second = allocator.allocate(Bytes(12 * kMib));
  allocator.free(first);
  allocator.free(second);
  allocator.allocate(Bytes(24 * kMib));
  EXPECT_EQ(allocator.reserved(), Bytes(48 * kMib));
}

// The smallest piece that is large enough: 14 MiB go into 16, not into 30, which the next request fills.
TEST(CachingAllocator, TheBestFitIsTaken) {
  CachingAllocator allocator(kUnlimited);
  const auto large = allocator.allocate(Bytes(30 * kMib));
  const auto middle = allocator.allocate(Bytes(16 * kMib));
  allocator.free(large);
  allocator.free(middle);
  allocator.allocate(Bytes(14 * kMib));
  allocator.allocate(Bytes(30 * kMib));
  EXPECT_EQ(allocator.reserved(), Bytes(46 * kMib));
}

// A rest of up to 1 MiB stays with its piece: 16 MiB for 15.5 leave nothing to serve 512 KiB + 1 MiB.
TEST(CachingAllocator, SmallRestsAreNotSplitOff) {
  CachingAllocator allocator(kUnlimited);
  allocator.allocate(Bytes(15 * kMib + kMib / 2));
  EXPECT_EQ(allocator.reserved(), Bytes(16 * kMib));
  allocator.allocate(Bytes(kMib + 512));
  EXPECT_EQ(allocator.reserved(), Bytes(36 * kMib));
}

// At the limit free segments are given back; live ones never are.
TEST(CachingAllocator, GivesBackAtTheLimit) {
  CachingAllocator allocator(Bytes(50 * kMib));
  const auto freed = allocator.allocate(Bytes(20 * kMib));
  allocator.allocate(Bytes(20 * kMib));
  allocator.free(freed);
  allocator.allocate(Bytes(24 * kMib));
  EXPECT_EQ(allocator.reserved(), Bytes(44 * kMib));
  EXPECT_EQ(allocator.most_reserved(), Bytes(44 * kMib));
  allocator.allocate(Bytes(30 * kMib));
  EXPECT_EQ(allocator.reserved(), Bytes(74 * kMib));
}

}  // namespace
}  // namespace sim
