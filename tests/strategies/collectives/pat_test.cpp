#include <gtest/gtest.h>

#include <algorithm>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

using enum ExchangeKind;

// Five ranks, seen from rank 0: far link first. At distance 4 only the own block is due (way 4); at 2 again only the
// own (way 2, as way 2 + 4 is too long); at 1 its own and that of rank 3 (ways 1 and 1 + 2).
TEST(Pat, OfFiveAsDrawn) {
  const GroupDomains group = GroupDomains::consecutive(5, 1);
  auto steps = all_steps(*find_collective_algorithm("pat"), {kAllGather}, group);
  steps.resize(1);
  EXPECT_EQ(text(steps, group),
            "rank 0\n"
            "  0.0 send [0,1)/5 to rank 4\n"
            "  0.0 receive [1,2)/5 from rank 1\n"
            "  0.0 send [0,1)/5 to rank 2\n"
            "  0.0 receive [3,4)/5 from rank 3\n"
            "  0.0 send [0,1)/5 x2 -2 to rank 1\n"
            "  0.0 receive [4,5)/5 x2 -2 from rank 4\n");
}

TEST(Pat, SendsTheLeastBytesInLogarithmicallyManyMessages) {
  for (const ExchangeKind kind : {kAllGather, kReduceScatter}) {
    for (const int n : rank_counts()) {
      const SymbolicResult run = run_checked("pat", {kind}, GroupDomains::consecutive(n, 1));
      EXPECT_EQ(run.hops, ceil_log2(n)) << n;
      for (int rank = 0; rank < n; ++rank) {
        const MemberTraffic& traffic = run.traffic[static_cast<std::size_t>(rank)];
        EXPECT_EQ(traffic.messages, ceil_log2(n)) << n;
        EXPECT_EQ(in_parts_of(traffic.sent, run, n), n - 1) << n;
        EXPECT_EQ(traffic.received, traffic.sent) << n;
      }
    }
  }
}

// A message to the rank d further holds n / 2d blocks when n is a power of two.
TEST(Pat, TheFarthestMessagesAreTheSmallest) {
  const int n = 16;
  const GroupDomains group = GroupDomains::consecutive(n, 1);
  const CollectiveAlgorithm& pat = *find_collective_algorithm("pat");
  for (int rank = 0; rank < n; ++rank) {
    int distance = n;
    for (const Step& step : pat.steps({kAllGather}, group, rank)) {
      if (step.kind != StepKind::kSend) continue;
      distance /= 2;
      EXPECT_EQ(step.peer, (rank + distance) % n);
      EXPECT_EQ(step.slice.count, n / (2 * distance));
    }
    EXPECT_EQ(distance, 1);
  }
}

}  // namespace
}  // namespace strategies
