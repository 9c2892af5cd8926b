#include "strategies/expert_routing.h"

#include <gtest/gtest.h>

#include <numeric>

namespace strategies {
namespace {

TEST(ExpertRouting, Balanced) {
  for (const int ranks : {1, 2, 8}) {
    EXPECT_TRUE(rank_loads({}, 8, 2, ranks).even());
    EXPECT_TRUE(rank_loads({0, {5, 5, 5, 5, 5, 5, 5, 5}}, 8, 2, ranks).even());
  }
  for (const double share : expert_shares({}, 5, 2)) EXPECT_DOUBLE_EQ(share, 0.2);
}

// 1, 1/2, 1/3, 1/4 of 25/12; one expert a rank, then two: the first and the third, the second and the fourth.
TEST(ExpertRouting, PowerLawByHand) {
  const ExpertRouting law{.exponent = 1, .choices = {}};
  const RankLoads alone = rank_loads(law, 4, 1, 4);
  EXPECT_NEAR(alone.busiest, 4 * 12.0 / 25, 1e-12);
  EXPECT_NEAR(alone.others, (4 - 4 * 12.0 / 25) / 3, 1e-12);
  EXPECT_NEAR(rank_loads(law, 4, 1, 2).busiest, 2 * (1 + 1.0 / 3) * 12 / 25, 1e-12);
}

// A token chooses an expert once: with two of four, none gets more than half.
TEST(ExpertRouting, NoExpertTwice) {
  const std::vector<double> shares = expert_shares({.exponent = 2, .choices = {}}, 4, 2);
  EXPECT_NEAR(shares[0], 0.5, 1e-12);
  const double rest = 1.0 / 4 + 1.0 / 9 + 1.0 / 16;
  EXPECT_NEAR(shares[1], 0.5 * (1.0 / 4) / rest, 1e-12);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
}

// Experts sit on ranks in their order: 2 and 3 on rank 1.
TEST(ExpertRouting, HistogramByHand) {
  const RankLoads loads = rank_loads({0, {10, 20, 30, 25, 5, 10}}, 6, 2, 3);
  EXPECT_EQ(loads.busiest_rank, 1);
  EXPECT_NEAR(loads.busiest, 3 * 0.55, 1e-12);
  EXPECT_NEAR(loads.others, (3 - 3 * 0.55) / 2, 1e-12);
}

}  // namespace
}  // namespace strategies
