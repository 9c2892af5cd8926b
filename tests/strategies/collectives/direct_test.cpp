#include <gtest/gtest.h>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

using enum ExchangeKind;

TEST(Direct, AllToAllSendsOneBlockToEveryOtherRank) {
  for (const int n : rank_counts()) {
    const int per_domain = 4;
    const GroupDomains group = GroupDomains::consecutive(n, per_domain);
    const SymbolicResult run = run_checked("direct", {kAllToAll}, group);
    EXPECT_EQ(run.hops, n > 1 ? 1 : 0);
    for (int rank = 0; rank < n; ++rank) {
      const MemberTraffic& traffic = run.traffic[static_cast<std::size_t>(rank)];
      const int mates = group.domain_size(group.domain(rank));
      EXPECT_EQ(traffic.messages, n - 1);
      EXPECT_EQ(traffic.messages_far, n - mates);
      EXPECT_EQ(in_parts_of(traffic.sent, run, n), n - 1);
      EXPECT_EQ(in_parts_of(traffic.sent_far, run, n), n - mates);
    }
  }
}

TEST(Direct, SendIsOneMessagePerSlice) {
  const SymbolicResult run = run_checked("direct", {kSend, 1, 6, 1, 3}, GroupDomains::consecutive(8, 4));
  EXPECT_EQ(run.hops, 1);
  EXPECT_EQ(run.traffic[1].messages, 3);
  EXPECT_EQ(run.traffic[1].sent_far, run.parts);
  EXPECT_EQ(run.traffic[6].received, run.parts);
  EXPECT_EQ(run_checked("direct", {kSend, 2, 2}, GroupDomains::consecutive(8, 4)).hops, 0) << "to itself";
}

}  // namespace
}  // namespace strategies
