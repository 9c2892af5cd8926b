#include <gtest/gtest.h>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

// Through the switch twice and the network once; a rank's NIC carries S/r each way, however many domains there are.
TEST(NvlsSharp, BytesAndHopsFollowTheClosedForms) {
  for (const int domains : {2, 3, 8, 16}) {
    for (const int r : {1, 2, 4, 8}) {
      const int n = domains * r;
      const SymbolicResult run = run_checked("nvls-sharp", {}, GroupDomains::consecutive(n, r));
      EXPECT_EQ(run.far_hops, 2);
      EXPECT_EQ(run.hops, r > 1 ? 6 : 2);
      for (int rank = 0; rank < n; ++rank) {
        const MemberTraffic& traffic = run.traffic[static_cast<std::size_t>(rank)];
        EXPECT_EQ(in_parts_of(traffic.sent_far, run, r), 1);
        EXPECT_EQ(in_parts_of(traffic.sent, run, r), 1 + (r > 1 ? r + 1 : 0));
        EXPECT_EQ(traffic.received, traffic.sent);
      }
    }
  }
}

}  // namespace
}  // namespace strategies
