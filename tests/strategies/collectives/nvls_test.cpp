#include "strategies/collectives/nvls.h"

#include <gtest/gtest.h>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

using enum ExchangeKind;

// The switch reads every piece from everyone (S), hands n sums of S/n to the owners, and copies what they write.
TEST(Nvls, AllReduceOfTwoAsDrawn) {
  const GroupDomains group = GroupDomains::consecutive(2, 2);
  auto steps = all_steps(*find_collective_algorithm("nvls"), {}, group);
  steps[1].clear();
  EXPECT_EQ(text(steps, group),
            "rank 0\n"
            "  0.0 send [0,1)/2 to switch 0\n"
            "  0.0 send [1,2)/2 to switch 0\n"
            "  0.1 receive [0,1)/2 from switch 0\n"
            "  0.1 send [0,1)/2 to switch 0 #1\n"
            "  0.3 receive [0,1)/2 from switch 0 #1\n"
            "  0.3 receive [1,2)/2 from switch 0 #1\n"
            "switch 0\n"
            "  0.0 receive [0,1)/2 from rank 0\n"
            "  0.0 reduce [0,1)/2 from rank 1\n"
            "  0.0 send [0,1)/2 to rank 0\n"
            "  0.1 receive [0,1)/2 from rank 0 #1\n"
            "  0.1 send [0,1)/2 to rank 0 #1\n"
            "  0.1 send [0,1)/2 to rank 1 #1\n"
            "  0.0 receive [1,2)/2 from rank 0\n"
            "  0.0 reduce [1,2)/2 from rank 1\n"
            "  0.0 send [1,2)/2 to rank 1\n"
            "  0.1 receive [1,2)/2 from rank 1 #1\n"
            "  0.1 send [1,2)/2 to rank 0 #1\n"
            "  0.1 send [1,2)/2 to rank 1 #1\n");
}

TEST(Nvls, BytesAndHopsFollowTheClosedForms) {
  struct Form {
    ExchangeKind kind;
    int hops, whole_sent, blocks_sent, whole_received, blocks_received;
  };
  for (const Form& form :
       {Form{kAllReduce, 4, 1, 1, 1, 1}, Form{kReduceScatter, 2, 1, 0, 0, 1}, Form{kAllGather, 2, 0, 1, 1, 0}}) {
    for (const int n : rank_counts()) {
      if (n == 1) continue;
      const SymbolicResult run = run_checked("nvls", {form.kind}, GroupDomains::consecutive(n, n));
      EXPECT_EQ(run.hops, form.hops);
      EXPECT_EQ(run.far_hops, 0);
      for (int rank = 0; rank < n; ++rank) {
        const MemberTraffic& traffic = run.traffic[static_cast<std::size_t>(rank)];
        EXPECT_EQ(in_parts_of(traffic.sent, run, n), form.whole_sent * n + form.blocks_sent);
        EXPECT_EQ(in_parts_of(traffic.received, run, n), form.whole_received * n + form.blocks_received);
      }
    }
  }
}

}  // namespace
}  // namespace strategies
