#include <gtest/gtest.h>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

using enum ExchangeKind;

// Ring of three, one block each; a column per rank, time downwards. Block b starts at rank b + 1 and is complete at b:
//
//     rank 0          rank 1          rank 2
//     send 2          send 0          send 1
//     + 1, send 1     + 2, send 2     + 0, send 0
//     + 0 complete    + 1 complete    + 2 complete
//     send 0          send 1          send 2
//     get 2, send 2   get 0, send 0   get 1, send 1
//     get 1           get 2           get 0
TEST(Ring, OfThreeAsDrawn) {
  const GroupDomains group = GroupDomains::consecutive(3, 1);
  EXPECT_EQ(text(all_steps(*find_collective_algorithm("ring"), {kAllReduce}, group), group),
            "rank 0\n"
            "  0.0 send [2,3)/3 to rank 1\n"
            "  0.0 reduce [1,2)/3 from rank 2\n"
            "  0.0 send [1,2)/3 to rank 1\n"
            "  0.0 reduce [0,1)/3 from rank 2\n"
            "  0.0 send [0,1)/3 to rank 1\n"
            "  0.0 receive [2,3)/3 from rank 2\n"
            "  0.0 send [2,3)/3 to rank 1\n"
            "  0.0 receive [1,2)/3 from rank 2\n"
            "rank 1\n"
            "  0.0 send [0,1)/3 to rank 2\n"
            "  0.0 reduce [2,3)/3 from rank 0\n"
            "  0.0 send [2,3)/3 to rank 2\n"
            "  0.0 reduce [1,2)/3 from rank 0\n"
            "  0.0 send [1,2)/3 to rank 2\n"
            "  0.0 receive [0,1)/3 from rank 0\n"
            "  0.0 send [0,1)/3 to rank 2\n"
            "  0.0 receive [2,3)/3 from rank 0\n"
            "rank 2\n"
            "  0.0 send [1,2)/3 to rank 0\n"
            "  0.0 reduce [0,1)/3 from rank 1\n"
            "  0.0 send [0,1)/3 to rank 0\n"
            "  0.0 reduce [2,3)/3 from rank 1\n"
            "  0.0 send [2,3)/3 to rank 0\n"
            "  0.0 receive [1,2)/3 from rank 1\n"
            "  0.0 send [1,2)/3 to rank 0\n"
            "  0.0 receive [0,1)/3 from rank 1\n");
}

TEST(Ring, BytesAndHopsFollowTheClosedForms) {
  struct Form {
    ExchangeKind kind;
    int rounds;  ///< times n - 1 hops, and (n - 1) / n of S sent by everyone
  };
  for (const Form& form : {Form{kAllReduce, 2}, Form{kReduceScatter, 1}, Form{kAllGather, 1}}) {
    for (const int n : rank_counts()) {
      const SymbolicResult run = run_checked("ring", {form.kind}, GroupDomains::consecutive(n, 4));
      EXPECT_EQ(run.hops, form.rounds * (n - 1)) << n;
      for (int rank = 0; rank < n; ++rank) {
        const MemberTraffic& traffic = run.traffic[static_cast<std::size_t>(rank)];
        EXPECT_EQ(in_parts_of(traffic.sent, run, n), form.rounds * (n - 1)) << n;
        EXPECT_EQ(traffic.received, traffic.sent);
        EXPECT_EQ(traffic.messages, form.rounds * (n - 1));
      }
    }
  }
}

TEST(Ring, BroadcastAndReducePassTheWholeBufferAlongTheChain) {
  for (const ExchangeKind kind : {kBroadcast, kReduce}) {
    for (const int n : rank_counts()) {
      const SymbolicResult run = run_checked("ring", {kind, n / 2, 0, 1, 4}, GroupDomains::consecutive(n, 4));
      EXPECT_EQ(run.hops, n - 1);
      std::int64_t sent = 0;
      for (const MemberTraffic& traffic : run.traffic) sent += traffic.sent;
      EXPECT_EQ(sent, (n - 1) * run.parts) << "everyone but the end of the chain sends S";
    }
  }
}

// One rank per domain sends to the next domain. Of the 2n - 2 hops of the longest chain, which goes round twice but for
// two consecutive edges, all cross domains if every rank is alone (2d - 2); else one of the two is missing with pairs,
// none with more. A single round omits one
// edge.
TEST(Ring, LeavesEveryDomainOncePerLap) {
  for (const int domains : {2, 3, 4, 8}) {
    for (const int per_domain : {1, 2, 3, 4, 8}) {
      const int n = domains * per_domain;
      const SymbolicResult run = run_checked("ring", {kAllReduce}, GroupDomains::consecutive(n, per_domain));
      EXPECT_EQ(run.far_hops, 2 * domains - (per_domain == 1 ? 2 : per_domain == 2 ? 1 : 0));
      for (const ExchangeKind kind : {kReduceScatter, kAllGather}) {
        const SymbolicResult once = run_checked("ring", {kind}, GroupDomains::consecutive(n, per_domain));
        EXPECT_EQ(once.far_hops, domains - (per_domain == 1 ? 1 : 0));
      }
      for (int rank = 0; rank < n; ++rank) {
        const bool last = rank % per_domain == per_domain - 1;
        EXPECT_EQ(in_parts_of(run.traffic[static_cast<std::size_t>(rank)].sent_far, run, n), last ? 2 * (n - 1) : 0);
      }
    }
  }
}

TEST(Ring, ChannelsLeaveDomainsThroughDifferentRanks) {
  const int n = 8, per_domain = 4;
  const SymbolicResult run = run_checked("ring", {kAllReduce, 0, 0, 4, 1}, GroupDomains::consecutive(n, per_domain));
  for (int rank = 0; rank < n; ++rank) {
    EXPECT_EQ(in_parts_of(run.traffic[static_cast<std::size_t>(rank)].sent_far, run, 4 * n), 2 * (n - 1));
  }
}

}  // namespace
}  // namespace strategies
