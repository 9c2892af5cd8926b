#include "strategies/collectives/double_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

using ::testing::ElementsAre;

int degree_below(const TreePosition& place) {
  return static_cast<int>(std::ranges::count_if(place.child, [](int child) { return child >= 0; }));
}

// The picture in double_tree.h.
TEST(DoubleTree, OfSixAsDrawn) {
  const std::vector<TreePosition> first = {{-1, {-1, 4}}, {2, {-1, -1}}, {4, {1, 3}},
                                           {2, {-1, -1}}, {0, {2, 5}},   {4, {-1, -1}}};
  const std::vector<TreePosition> second = {{1, {-1, -1}}, {5, {3, 0}},   {3, {-1, -1}},
                                            {1, {4, 2}},   {3, {-1, -1}}, {-1, {-1, 1}}};
  for (int p = 0; p < 6; ++p) {
    EXPECT_EQ(double_tree(6, p, 0), first[static_cast<std::size_t>(p)]) << p;
    EXPECT_EQ(double_tree(6, p, 1), second[static_cast<std::size_t>(p)]) << p;
  }
}

// Odd: 0 - 4 - (2 - (1, 3)) shifted by one is 1 - 0 - (3 - (2, 4)).
TEST(DoubleTree, OfFiveIsShifted) {
  const std::vector<TreePosition> second = {{1, {3, -1}}, {-1, {-1, 0}}, {3, {-1, -1}}, {0, {2, 4}}, {3, {-1, -1}}};
  for (int p = 0; p < 5; ++p) EXPECT_EQ(double_tree(5, p, 1), second[static_cast<std::size_t>(p)]) << p;
}

TEST(DoubleTree, ParentsAndChildrenAgreeAndDepthIsLogarithmic) {
  for (int n = 1; n <= 300; ++n) {
    for (const int tree : {0, 1}) {
      int roots = 0, deepest = 0;
      for (int p = 0; p < n; ++p) {
        const TreePosition place = double_tree(n, p, tree);
        for (const int child : place.child) {
          if (child < 0) continue;
          EXPECT_EQ(double_tree(n, child, tree).parent, p) << n;
        }
        roots += place.parent < 0 ? 1 : 0;
        int depth = 0;
        for (int at = p; at >= 0 && depth <= n; at = double_tree(n, at, tree).parent) ++depth;
        deepest = std::max(deepest, depth - 1);
      }
      EXPECT_EQ(roots, 1) << n;
      EXPECT_EQ(deepest, ceil_log2(n)) << n;
    }
  }
}

TEST(DoubleTree, NobodyHasTwoChildrenInBoth) {
  for (int n = 1; n <= 300; ++n) {
    for (int p = 0; p < n; ++p) {
      const int children = degree_below(double_tree(n, p, 0)) + degree_below(double_tree(n, p, 1));
      EXPECT_LE(children, 2) << n << " position " << p;
    }
  }
}

// Three domains of two ranks: first tree 0 - 2 - 1, chains (0 1) (2 3) (4 5). Domain 2 is a right child and hangs on
// the second rank of domain 0, domain 1 a left child on the first rank of domain 2.
TEST(DoubleTree, ChainsHoldLeftChildrenFirstAndRightChildrenSecond) {
  const GroupDomains group = GroupDomains::consecutive(6, 2);
  const std::vector<int> parents = {-1, 0, 4, 2, 1, 4};
  for (int r = 0; r < 6; ++r) {
    EXPECT_EQ(chained_tree(group, r, 0, 0).parent, parents[static_cast<std::size_t>(r)]) << r;
  }
  EXPECT_THAT(chained_tree(group, 1, 0, 0).children, ElementsAre(4));
  EXPECT_THAT(chained_tree(group, 4, 0, 0).children, ElementsAre(5, 2));
  // Rotated by one the second ranks are the heads.
  EXPECT_EQ(chained_tree(group, 1, 0, 1).parent, -1);
  EXPECT_THAT(chained_tree(group, 5, 0, 1).children, ElementsAre(4, 3));
}

}  // namespace
}  // namespace strategies
