#include <gtest/gtest.h>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

using enum ExchangeKind;

// d domains of r ranks, n = d r, in blocks of S/n. All-reduce: every rank hands r - 1 pieces of S/r to its mates, one
// to the network, and its own result to r - 1 mates. Reduce-scatter: d blocks to each mate, d to the network.
// All-gather: one to the network, d to each mate.
TEST(CollnetDirect, BytesAndHopsFollowTheClosedForms) {
  for (const int d : {2, 3, 8}) {
    for (const int r : {1, 2, 4, 8}) {
      const int n = d * r;
      const GroupDomains group = GroupDomains::consecutive(n, r);
      const SymbolicResult reduce = run_checked("collnet-direct", {kAllReduce}, group);
      const SymbolicResult scatter = run_checked("collnet-direct", {kReduceScatter}, group);
      const SymbolicResult gather = run_checked("collnet-direct", {kAllGather}, group);
      EXPECT_EQ(reduce.hops, r > 1 ? 4 : 2);
      EXPECT_EQ(scatter.hops, r > 1 ? 3 : 2);
      EXPECT_EQ(gather.hops, r > 1 ? 3 : 2);
      for (const SymbolicResult* run : {&reduce, &scatter, &gather}) EXPECT_EQ(run->far_hops, 2);
      for (std::size_t rank = 0; rank < static_cast<std::size_t>(n); ++rank) {
        EXPECT_EQ(in_parts_of(reduce.traffic[rank].sent, reduce, r), 2 * (r - 1) + 1);
        EXPECT_EQ(in_parts_of(reduce.traffic[rank].sent_far, reduce, r), 1);
        EXPECT_EQ(in_parts_of(scatter.traffic[rank].sent, scatter, n), d * (r - 1) + d);
        EXPECT_EQ(in_parts_of(scatter.traffic[rank].received, scatter, n), d * (r - 1) + 1);
        EXPECT_EQ(in_parts_of(gather.traffic[rank].sent, gather, n), d * (r - 1) + 1);
        EXPECT_EQ(in_parts_of(gather.traffic[rank].received, gather, n), n - 1);
      }
    }
  }
}

}  // namespace
}  // namespace strategies
