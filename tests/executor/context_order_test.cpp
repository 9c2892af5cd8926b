#include "executor/context_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace executor {
namespace {

std::vector<std::int64_t> positions(const ContextOrder& order, int rank) {
  std::vector<std::int64_t> all;
  for (std::int64_t token = 0; token < order.own(); ++token) all.push_back(order.position(rank, token));
  return all;
}

TEST(ContextOrder, ConsecutiveTokens) {
  const ContextOrder order{.sequence = 6, .contexts = 2};
  EXPECT_EQ(positions(order, 0), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(positions(order, 1), (std::vector<std::int64_t>{3, 4, 5}));
}

TEST(ContextOrder, BalancedAPieceFromEachEnd) {
  const ContextOrder order{.sequence = 12, .contexts = 3, .balanced = true};
  EXPECT_EQ(positions(order, 0), (std::vector<std::int64_t>{0, 1, 10, 11}));
  EXPECT_EQ(positions(order, 1), (std::vector<std::int64_t>{2, 3, 8, 9}));
  EXPECT_EQ(positions(order, 2), (std::vector<std::int64_t>{4, 5, 6, 7}));
}

}  // namespace
}  // namespace executor
