#include "strategies/pipeline/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "strategies/pipeline/order_span.h"

namespace strategies {
namespace {

std::string text_of(const std::vector<ComputeAction>& actions) {
  std::string text;
  for (const ComputeAction& action : actions) {
    text += (text.empty() ? "" : " ") + std::string(name(action.kind));
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
        if (m < schedule.fewest_microbatches * stages) continue;
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
        std::map<std::pair<int, int>, std::string> seen;
        for (const ComputeAction& action : schedule.actions(shape, stage)) {
          seen[{action.chunk, action.microbatch}] += name(action.kind);
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(shape.chunks * shape.microbatches)) << schedule.name;
        for (const auto& [key, passes] : seen) {
          EXPECT_TRUE(passes == "FBW") << schedule.name << " stage " << stage << ": " << passes;
        }
      }
    }
  }
}

TEST(Schedule, OnlyThoseThatSaySoSplitTheBackward) {
  for (const Schedule& schedule : schedules()) {
    for (const ScheduleShape& shape : shapes(schedule)) {
      bool splits = false;
      for (const ComputeAction& action : schedule.actions(shape, 0)) {
        splits = splits || action.kind == BlockKind::kBackwardWeight;
      }
      EXPECT_EQ(splits, schedule.splits_backward) << schedule.name;
    }
  }
}

// A table that both ends of the model share on one stage is reduced with the lower chunk's last gradients.
TEST(Schedule, AChunksGradientsAreCompleteBeforeThoseOfTheChunkBelow) {
  for (const Schedule& schedule : schedules()) {
    for (const ScheduleShape& shape : shapes(schedule)) {
      for (int stage = 0; stage < shape.stages; ++stage) {
        std::vector<std::size_t> completing(static_cast<std::size_t>(shape.chunks));
        const std::vector<ComputeAction> actions = schedule.actions(shape, stage);
        for (std::size_t a = 0; a < actions.size(); ++a) {
          const bool weights = actions[a].kind == BlockKind::kBackward || actions[a].kind == BlockKind::kBackwardWeight;
          if (weights) completing[static_cast<std::size_t>(actions[a].chunk)] = a;
        }
        EXPECT_TRUE(std::ranges::is_sorted(completing, std::greater<>()))
            << schedule.name << " p " << shape.stages << " m " << shape.microbatches << " stage " << stage;
      }
    }
  }
}

TEST(Schedule, NoStageWaitsForItself) {
  for (const Schedule& schedule : schedules()) {
    for (const ScheduleShape& shape : shapes(schedule)) {
      EXPECT_TRUE(order_span(shape, schedule.orders(shape), schedule.stage_of_virtual(shape)).has_value())
          << schedule.name << " p " << shape.stages << " v " << shape.chunks << " m " << shape.microbatches;
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
  EXPECT_EQ(text_of(schedule.actions({3, 1, 4}, 0)), "F0 F1 F2 BW0 F3 BW1 BW2 BW3");
  EXPECT_EQ(text_of(schedule.actions({3, 1, 4}, 1)), "F0 F1 BW0 F2 BW1 F3 BW2 BW3");
  EXPECT_EQ(text_of(schedule.actions({3, 1, 4}, 2)), "F0 BW0 F1 BW1 F2 BW2 F3 BW3");
  EXPECT_EQ(text_of(schedule.actions({4, 1, 2}, 0)), "F0 F1 BW0 BW1");
}

TEST(Schedule, GpipeByHand) {
  EXPECT_EQ(text_of(find_schedule("gpipe")->actions({2, 1, 3}, 1)), "F0 F1 F2 BW0 BW1 BW2");
}

// Megatron-LM with 2 stages, 2 chunks: groups of two microbatches pass chunk 0, then chunk 1; backward the reverse.
TEST(Schedule, InterleavedByHand) {
  const Schedule& schedule = *find_schedule("interleaved");
  EXPECT_EQ(text_of(schedule.actions({2, 2, 4}, 0)),
            "F0 F1 F0.1 F1.1 F2 BW0.1 F3 BW1.1 F2.1 BW0 F3.1 BW1 BW2.1 BW3.1 BW2 BW3");
  EXPECT_EQ(text_of(schedule.actions({2, 2, 4}, 1)),
            "F0 F1 F0.1 BW0.1 F1.1 BW1.1 F2 BW0 F3 BW1 F2.1 BW2.1 F3.1 BW3.1 BW2 BW3");
}

// Stage i is i weight gradients behind; three stages, four microbatches.
TEST(Schedule, ZeroBubbleH1ByHand) {
  const Schedule& schedule = *find_schedule("zb-h1");
  EXPECT_EQ(text_of(schedule.actions({3, 1, 4}, 0)), "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3");
  EXPECT_EQ(text_of(schedule.actions({3, 1, 4}, 1)), "F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3");
  EXPECT_EQ(text_of(schedule.actions({3, 1, 4}, 2)), "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3");
}

TEST(Schedule, ZeroBubbleVByHand) {
  const Schedule& schedule = *find_schedule("zb-v");
  EXPECT_EQ(text_of(schedule.actions({2, 2, 3}, 0)),
            "F0 F1 F2 F0.1 B0.1 W0.1 F1.1 B1.1 W1.1 B0 W0 F2.1 B2.1 W2.1 B1 W1 B2 W2");
  EXPECT_EQ(text_of(schedule.actions({2, 2, 3}, 1)),
            "F0 F0.1 F1 F1.1 B0.1 W0.1 F2 B0 W0 F2.1 B1.1 W1.1 B1 B2.1 B2 W1 W2.1 W2");
}

TEST(Schedule, DualPipeVByHand) {
  const Schedule& schedule = *find_schedule("dualpipe-v");
  EXPECT_EQ(text_of(schedule.actions({2, 2, 4}, 0)),
            "F0 F1 F2 F0.1 B0.1 W0.1 F1.1 F3 BW1.1 F2.1 BW0 BW2.1 F3.1 BW1 BW3.1 B2 W2 B3 W3");
  EXPECT_EQ(text_of(schedule.actions({2, 2, 4}, 1)),
            "F0 F0.1 F1 F1.1 F2 BW0.1 F2.1 BW0 F3 BW1.1 F3.1 BW1 BW2.1 BW2 B3.1 B3 W3.1 W3");
}

}  // namespace
}  // namespace strategies
