#include "strategies/pipeline/schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace strategies {
namespace {

std::string text_of(const std::vector<ComputeAction>& actions) {
  std::string text;
  for (const ComputeAction& action : actions) {
    text += (text.empty() ? "" : " ") + std::string(action.kind == BlockKind::kForward ? "F" : "B");
    text += std::to_string(action.microbatch);
    if (action.chunk > 0) text += "." + std::to_string(action.chunk);
  }
  return text;
}

std::vector<ScheduleShape> shapes(const Schedule& schedule) {
  std::vector<ScheduleShape> result;
  for (const int stages : {1, 2, 3, 4, 8}) {
    for (int chunks = schedule.minimum_chunks; chunks <= std::min(3, schedule.maximum_chunks); ++chunks) {
      for (const int m : {1, 2, 3, 4, 8, 16}) {
        if (schedule.microbatches_multiple_of_stages && m % stages != 0) continue;
        result.push_back({stages, chunks, m});
      }
    }
  }
  return result;
}

TEST(Schedule, EveryMicrobatchOfEveryChunkRunsOnceForwardAndOnceBackwardAfterIt) {
  for (const Schedule& schedule : schedules()) {
    for (const ScheduleShape& shape : shapes(schedule)) {
      for (int stage = 0; stage < shape.stages; ++stage) {
        std::map<std::pair<int, int>, int> seen;  // 1 = forward, 2 = both
        for (const ComputeAction& action : schedule.actions(shape, stage)) {
          int& state = seen[{action.chunk, action.microbatch}];
          EXPECT_EQ(state, action.kind == BlockKind::kForward ? 0 : 1) << schedule.name << " stage " << stage;
          ++state;
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(shape.chunks * shape.microbatches)) << schedule.name;
        for (const auto& [key, state] : seen) EXPECT_EQ(state, 2) << schedule.name;
      }
    }
  }
}

TEST(Schedule, EveryStageHostsItsChunks) {
  for (const Schedule& schedule : schedules()) {
    for (const ScheduleShape& shape : shapes(schedule)) {
      std::map<int, int> chunks;
      for (const int stage : schedule.stage_of_virtual(shape)) ++chunks[stage];
      EXPECT_EQ(chunks.size(), static_cast<std::size_t>(shape.stages));
      for (const auto& [stage, count] : chunks) EXPECT_EQ(count, shape.chunks);
    }
  }
}

TEST(Schedule, NamesAreUniqueAndDescribed) {
  std::set<std::string_view> names;
  for (const Schedule& schedule : schedules()) {
    EXPECT_TRUE(names.insert(schedule.name).second);
    EXPECT_FALSE(schedule.summary.empty());
    EXPECT_FALSE(schedule.source.empty());
    EXPECT_EQ(find_schedule(schedule.name), &schedule);
  }
  EXPECT_EQ(find_schedule("2f2b"), nullptr);
}

TEST(Schedule, OneForwardOneBackwardByHand) {
  const Schedule& schedule = *find_schedule("1f1b");
  EXPECT_EQ(text_of(schedule.actions({3, 1, 4}, 0)), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(text_of(schedule.actions({3, 1, 4}, 1)), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(text_of(schedule.actions({3, 1, 4}, 2)), "F0 B0 F1 B1 F2 B2 F3 B3");
  EXPECT_EQ(text_of(schedule.actions({4, 1, 2}, 0)), "F0 F1 B0 B1");
}

TEST(Schedule, GpipeByHand) { EXPECT_EQ(text_of(find_schedule("gpipe")->actions({2, 1, 3}, 1)), "F0 F1 F2 B0 B1 B2"); }

// Megatron-LM with 2 stages, 2 chunks: groups of two microbatches pass chunk 0, then chunk 1; backward the reverse.
TEST(Schedule, InterleavedByHand) {
  const Schedule& schedule = *find_schedule("interleaved");
  EXPECT_EQ(text_of(schedule.actions({2, 2, 4}, 0)), "F0 F1 F0.1 F1.1 F2 B0.1 F3 B1.1 F2.1 B0 F3.1 B1 B2.1 B3.1 B2 B3");
  EXPECT_EQ(text_of(schedule.actions({2, 2, 4}, 1)), "F0 F1 F0.1 B0.1 F1.1 B1.1 F2 B0 F3 B1 F2.1 B2.1 F3.1 B3.1 B2 B3");
}

}  // namespace
}  // namespace strategies
