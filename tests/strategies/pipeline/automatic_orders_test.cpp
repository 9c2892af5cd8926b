#include "strategies/pipeline/automatic_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "strategies/pipeline/order_span.h"

namespace strategies {
namespace {

std::vector<int> in_line(int stages) {
  std::vector<int> all;
  for (int s = 0; s < stages; ++s) all.push_back(s);
  return all;
}

std::string text_of(const std::vector<ComputeAction>& actions) {
  std::string text;
  for (const ComputeAction& action : actions) {
    text += (text.empty() ? "" : " ") + std::string(name(action.kind)) + std::to_string(action.microbatch);
  }
  return text;
}

/// All stages alike.
ScheduleShape shape_of(int stages, int microbatches, const PassCosts& costs) {
  return {stages, 1, microbatches, std::vector<PassCosts>(static_cast<std::size_t>(stages), costs)};
}

// Two stages of unit passes, memory for four: the third F of stage 0 ends when the gradient of the first arrives.
TEST(AutomaticOrders, TwoStagesByHand) {
  const Orders orders = automatic_orders(shape_of(2, 4, {}), 4);
  EXPECT_EQ(text_of(orders[0]), "F0 F1 F2 B0 F3 B1 W0 B2 W1 B3 W2 W3");
  EXPECT_EQ(text_of(orders[1]), "F0 B0 F1 B1 F2 B2 F3 B3 W0 W1 W2 W3");
}

TEST(AutomaticOrders, IsNoWorseThanZeroBubbleH1) {
  for (int p = 1; p <= 8; ++p) {
    for (const int m : {1, 2, p, 3 * p}) {
      for (const PassCosts& costs : {PassCosts{}, PassCosts{.forward = 10, .backward = 12, .weight = 5, .send = 1},
                                     PassCosts{.forward = 7, .backward = 20, .weight = 9, .kept = 5}}) {
        const ScheduleShape shape = shape_of(p, m, costs);
        const auto h1 = order_span(shape, find_schedule("zb-h1")->orders(shape), in_line(p));
        for (const int kept : {p, 2 * p}) {
          const auto planned = order_span(shape, automatic_orders(shape, kept), in_line(p));
          ASSERT_TRUE(planned.has_value());
          EXPECT_LE(planned->longest, h1->longest) << p << " " << m << " " << kept;
        }
      }
    }
  }
}

// More memory never makes the plan worse here, and a stage that needs longer delays all.
TEST(AutomaticOrders, UsesTheMemoryItMayUse) {
  const ScheduleShape shape = shape_of(4, 12, {.forward = 100, .backward = 100, .weight = 80, .send = 5});
  const auto little = order_span(shape, automatic_orders(shape, 4), in_line(4));
  const auto much = order_span(shape, automatic_orders(shape, 8), in_line(4));
  EXPECT_LT(much->longest, little->longest);
  EXPECT_GE(much->longest, 12 * 280);
}

TEST(AutomaticOrders, TakesEveryStagesOwnCosts) {
  ScheduleShape shape = shape_of(3, 9, {.forward = 100, .backward = 100, .weight = 100});
  shape.costs[2].forward = 150;
  const auto span = order_span(shape, automatic_orders(shape, 6), in_line(3));
  EXPECT_GE(span->longest, 9 * 350);
  EXPECT_LE(span->longest, 9 * 350 + 350);
}

}  // namespace
}  // namespace strategies
