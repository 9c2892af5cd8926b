#include "sim/time_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sim {
namespace {

TEST(TimeIndex, IsNeverWhenEmpty) {
  TimeIndex index;
  EXPECT_EQ(index.earliest(), TimeIndex::kNever);
  EXPECT_EQ(index.at(7), TimeIndex::kNever);
  index.set(3, 5);
  index.set(3, TimeIndex::kNever);
  EXPECT_EQ(index.earliest(), TimeIndex::kNever);
}

TEST(TimeIndex, FirstIsTheLowestOfEqualSlots) {
  TimeIndex index;
  for (const TimeIndex::Slot slot : {400U, 17U, 90U}) index.set(slot, 5);
  index.set(2, 6);
  EXPECT_EQ(index.first(), 17U);
  index.set(17, 7);
  EXPECT_EQ(index.first(), 90U);
}

// Against a plain array, for sizes on both sides of every power of the fan; times move forward and back.
TEST(TimeIndex, EqualsTheMinimumOfAnArray) {
  for (const std::size_t slots : {1U, 15U, 16U, 17U, 255U, 256U, 257U, 4'097U}) {
    std::mt19937_64 random(slots);
    TimeIndex index;
    std::vector<std::int64_t> times(slots, TimeIndex::kNever);
    for (int i = 0; i < 3'000; ++i) {
      const std::size_t slot = random() % std::min<std::size_t>(slots, 1 + static_cast<std::size_t>(i) * 2);
      times[slot] = random() % 4 == 0 ? TimeIndex::kNever : static_cast<std::int64_t>(random() % 500);
      index.set(static_cast<TimeIndex::Slot>(slot), times[slot]);
      const auto first = std::ranges::min_element(times);
      ASSERT_EQ(index.earliest(), *first);
      if (*first == TimeIndex::kNever) continue;
      ASSERT_EQ(index.first(), first - times.begin());
    }
  }
}

}  // namespace
}  // namespace sim
