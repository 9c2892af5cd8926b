#include <gtest/gtest.h>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

using enum ExchangeKind;

// d domains of r ranks. As many bytes cross the network as without PXN, in d - 1 messages of r blocks instead of n - r;
// inside the domain every rank sends d blocks to each mate.
TEST(Pxn, AllToAllBundlesWhatLeavesTheDomain) {
  for (const int d : {2, 3, 8}) {
    for (const int r : {1, 2, 4, 8}) {
      const int n = d * r;
      const SymbolicResult run = run_checked("pxn", {kAllToAll}, GroupDomains::consecutive(n, r));
      EXPECT_EQ(run.hops, r > 1 ? 2 : 1);
      EXPECT_EQ(run.far_hops, 1);
      for (int rank = 0; rank < n; ++rank) {
        const MemberTraffic& traffic = run.traffic[static_cast<std::size_t>(rank)];
        EXPECT_EQ(traffic.messages_far, d - 1);
        EXPECT_EQ(in_parts_of(traffic.sent_far, run, n), n - r);
        EXPECT_EQ(traffic.messages - traffic.messages_far, d * (r - 1));
        EXPECT_EQ(in_parts_of(traffic.sent - traffic.sent_far, run, n), d * (r - 1));
      }
    }
  }
}

TEST(Pxn, NoMessageCrossesRailsInTheNetwork) {
  const GroupDomains group({0, 1, 0, 1, 1, 0, 1, 0});  // four ranks each, in no order
  for (const Exchange& exchange : {Exchange{kAllToAll}, Exchange{kSend, 0, 6}, Exchange{kSend, 5, 1}}) {
    const auto steps = all_steps(*find_collective_algorithm("pxn"), exchange, group);
    for (int rank = 0; rank < group.ranks(); ++rank) {
      for (const Step& step : steps[static_cast<std::size_t>(rank)]) {
        if (step.peer < 0 || !group.far(rank, step.peer)) continue;
        EXPECT_EQ(group.local(rank), group.local(step.peer));
      }
    }
    EXPECT_TRUE(run_symbolically(exchange, group, steps).findings.empty());
  }
}

TEST(Pxn, SendTurnsOffOnlyForAnotherRail) {
  const GroupDomains group = GroupDomains::consecutive(8, 4);
  EXPECT_EQ(run_checked("pxn", {kSend, 0, 6}, group).hops, 2);  // 0 - 2 - 6
  EXPECT_EQ(run_checked("pxn", {kSend, 0, 4}, group).hops, 1);
  EXPECT_EQ(run_checked("pxn", {kSend, 0, 3}, group).hops, 1);
}

}  // namespace
}  // namespace strategies
