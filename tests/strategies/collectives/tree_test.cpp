#include <gtest/gtest.h>

#include <algorithm>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

// Channel 0 is the first tree of double_tree.h, channel 1 the mirrored one; each has half of S.
TEST(Tree, OfSixAsDrawn) {
  const GroupDomains group = GroupDomains::consecutive(6, 1);
  const auto steps = all_steps(*find_collective_algorithm("tree"), {}, group);
  const auto of = [&](std::size_t rank) {
    std::vector<std::vector<Step>> one(steps.size());
    one[rank] = steps[rank];
    return text(one, group);
  };
  EXPECT_EQ(of(0),
            "rank 0\n"  // root of the first tree, leaf of the second
            "  0.0 reduce [0,1)/2 from rank 4\n"
            "  0.0 send [0,1)/2 to rank 4 #1\n"
            "  1.0 send [1,2)/2 to rank 1\n"
            "  1.1 receive [1,2)/2 from rank 1 #1\n");
  EXPECT_EQ(of(3),
            "rank 3\n"  // leaf of the first, below 1 and above 2 and 4 in the second
            "  0.0 send [0,1)/2 to rank 2\n"
            "  0.1 receive [0,1)/2 from rank 2 #1\n"
            "  1.0 reduce [1,2)/2 from rank 4\n"
            "  1.0 reduce [1,2)/2 from rank 2\n"
            "  1.0 send [1,2)/2 to rank 1\n"
            "  1.1 receive [1,2)/2 from rank 1 #1\n"
            "  1.1 send [1,2)/2 to rank 4 #1\n"
            "  1.1 send [1,2)/2 to rank 2 #1\n");
}

std::int64_t total_sent(const SymbolicResult& run) {
  std::int64_t sent = 0;
  for (const MemberTraffic& traffic : run.traffic) sent += traffic.sent;
  return sent;
}

// n - 1 edges per tree carry half of S up and down.
TEST(Tree, OneRankPerDomainSendsAtMostTwiceAndHopsLogarithmically) {
  for (const int n : rank_counts()) {
    const SymbolicResult run = run_checked("tree", {}, GroupDomains::consecutive(n, 1));
    EXPECT_EQ(run.hops, 2 * ceil_log2(n)) << n;
    EXPECT_EQ(total_sent(run), 2 * (n - 1) * run.parts) << n;
    for (const MemberTraffic& traffic : run.traffic) {
      EXPECT_LE(traffic.sent, 2 * run.parts) << n;
      EXPECT_EQ(traffic.received, traffic.sent) << n;
    }
  }
}

// A chain of r ranks below a domain adds r - 1 hops each way; a right child hangs one rank deeper.
TEST(Tree, ChainsAddTheirLength) {
  for (const int r : {2, 3, 4, 8}) {
    EXPECT_EQ(run_checked("tree", {}, GroupDomains::consecutive(r, r)).hops, 2 * (r - 1));
    EXPECT_EQ(run_checked("tree", {}, GroupDomains::consecutive(2 * r, r)).hops, 2 * (1 + 1 + r - 1));
    for (const int domains : {3, 4, 5, 8}) {
      const SymbolicResult run = run_checked("tree", {}, GroupDomains::consecutive(domains * r, r));
      const int levels = ceil_log2(domains);
      EXPECT_EQ(run.far_hops, 2 * levels);
      EXPECT_GE(run.hops, 2 * (levels + r - 1));
      EXPECT_LE(run.hops, 2 * (2 * levels + r - 1));
      EXPECT_EQ(total_sent(run), 2 * (domains * r - 1) * run.parts);
      for (const MemberTraffic& traffic : run.traffic) EXPECT_LE(2 * traffic.sent, 5 * run.parts);
    }
  }
}

// The root of a tree turns slices around while later ones still come up: the longest chain does not grow with slices.
TEST(Tree, SlicesPipelineBothWays) {
  const GroupDomains group = GroupDomains::consecutive(16, 1);
  EXPECT_EQ(run_checked("tree", {ExchangeKind::kAllReduce, 0, 0, 1, 6}, group).hops, 2 * ceil_log2(16));
}

}  // namespace
}  // namespace strategies
