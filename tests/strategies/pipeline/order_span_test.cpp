#include "strategies/pipeline/order_span.h"

#include <gtest/gtest.h>

namespace strategies {
namespace {

constexpr auto kF = BlockKind::kForward;
constexpr auto kB = BlockKind::kBackwardInput;
constexpr auto kW = BlockKind::kBackwardWeight;

TEST(OrderSpan, TwoStagesByHand) {
  const PassCosts costs{.forward = 10, .backward = 20, .weight = 5, .send = 1};
  const ScheduleShape shape{2, 1, 1, {costs, costs}};
  const Orders orders{{{kF, 0, 0}, {kB, 0, 0}, {kW, 0, 0}}, {{kF, 0, 0}, {kB, 0, 0}, {kW, 0, 0}}};
  // F 0-10, message, F 11-21, B 21-41 there, W 41-46; message, B 42-62, W 62-67.
  const auto span = order_span(shape, orders, {0, 1});
  ASSERT_TRUE(span.has_value());
  EXPECT_EQ(span->all, 67);
  EXPECT_EQ(span->longest, 67);
}

TEST(OrderSpan, AStageCountsFromItsOwnStart) {
  const PassCosts costs{.forward = 10, .backward = 0, .weight = 0};
  const ScheduleShape shape{2, 1, 1, {costs, costs}};
  const Orders orders{{{kF, 0, 0}}, {{kF, 0, 0}}};
  const auto span = order_span(shape, orders, {0, 1});
  EXPECT_EQ(span->all, 20);
  EXPECT_EQ(span->longest, 10);
}

TEST(OrderSpan, NoMessageBetweenChunksOfAStage) {
  const PassCosts costs{.forward = 10, .backward = 20, .weight = 5, .send = 100};
  const ScheduleShape shape{1, 2, 1, {costs, costs}};
  const Orders orders{{{kF, 0, 0}, {kF, 1, 0}, {BlockKind::kBackward, 1, 0}, {BlockKind::kBackward, 0, 0}}};
  EXPECT_EQ(order_span(shape, orders, {0, 0})->all, 10 + 10 + 25 + 25);
}

TEST(OrderSpan, SaysWhenStagesWaitForEachOther) {
  const ScheduleShape shape{2, 1, 1};
  const Orders orders{{{kB, 0, 0}, {kF, 0, 0}}, {{kF, 0, 0}, {kB, 0, 0}}};
  EXPECT_FALSE(order_span(shape, orders, {0, 1}).has_value());
}

}  // namespace
}  // namespace strategies
