#include <gtest/gtest.h>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

// Up the chain, through the network, down the chain. A rank sends S up and, unless it is the last, S down; the network
// S to every head.
TEST(CollnetChain, BytesAndHopsFollowTheClosedForms) {
  for (const int domains : {2, 3, 8}) {
    for (const int r : {1, 2, 4, 8}) {
      const int n = domains * r;
      const GroupDomains group = GroupDomains::consecutive(n, r);
      const SymbolicResult run = run_checked("collnet-chain", {ExchangeKind::kAllReduce, 0, 0, 1, 3}, group);
      EXPECT_EQ(run.far_hops, 2);
      EXPECT_EQ(run.hops, 2 * (r - 1) + 2);
      for (int rank = 0; rank < n; ++rank) {
        const MemberTraffic& traffic = run.traffic[static_cast<std::size_t>(rank)];
        EXPECT_EQ(traffic.sent, (rank % r == r - 1 ? 1 : 2) * run.parts);
        EXPECT_EQ(traffic.sent_far, rank % r == 0 ? run.parts : 0);
      }
      EXPECT_EQ(run.traffic[static_cast<std::size_t>(group.network())].sent, domains * run.parts);
    }
  }
}

}  // namespace
}  // namespace strategies
