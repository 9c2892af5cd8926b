#include <gtest/gtest.h>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

// A rank sends S + S/r to its switch and at most 2 S/r through the trees of its rail.
TEST(NvlsTree, BytesAndHopsFollowTheClosedForms) {
  for (const int domains : {2, 3, 4, 5, 8, 16}) {
    for (const int r : {1, 2, 4, 8}) {
      const int n = domains * r;
      if (n > kMaxSymbolicRanks) continue;
      const SymbolicResult run = run_checked("nvls-tree", {}, GroupDomains::consecutive(n, r));
      EXPECT_EQ(run.far_hops, 2 * ceil_log2(domains));
      EXPECT_EQ(run.hops, 2 * ceil_log2(domains) + (r > 1 ? 4 : 0));
      std::int64_t far = 0;
      for (int rank = 0; rank < n; ++rank) {
        const MemberTraffic& traffic = run.traffic[static_cast<std::size_t>(rank)];
        EXPECT_EQ(in_parts_of(traffic.sent - traffic.sent_far, run, r), r > 1 ? r + 1 : 0);
        EXPECT_LE(traffic.sent_far * r, 2 * run.parts);
        far += traffic.sent_far;
      }
      EXPECT_EQ(far, 2 * (domains - 1) * run.parts);
    }
  }
}

}  // namespace
}  // namespace strategies
