// Two binary trees over the same n positions, such that an inner node of one is (almost always) a leaf of the other:
// each carries half of the data, so that every position sends and receives about as much.
//
// First tree: position 0 is the root, above the in-order tree of 1 ... n-1. A position whose lowest set bit is b has
// its children b/2 to the left and to the right (nearer on the right where that would be outside); its parent is the
// position b to the left or to the right whose lowest set bit is 2b, or the left one if that is outside. Odd positions
// are leaves.
//
//     n = 6:  0            second tree (mirrored):  5
//              \                                   /
//               4                                 1
//              / \                               / \       .
//             2   5                             0   3
//            / \                                   / \     .
//           1   3                                 2   4
//
// Second tree: the first mirrored (position p plays n-1-p) when n is even, shifted by one (p plays p-1) when n is odd;
// both turn odd positions into even ones.
//
// Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel Computing 35
// (2009); this shape: NCCL 2.4 and later (src/graph/trees.cc).
#pragma once

#include <array>

#include "strategies/collectives/group_domains.h"
#include "strategies/collectives/step_writer.h"

namespace strategies {

struct TreePosition {
  int parent = -1;
  std::array<int, 2> child{-1, -1};  ///< left, right; the child of the first root is its right one
  bool operator==(const TreePosition&) const = default;
};

/// `tree` is 0 or 1; 0 <= position < n.
TreePosition double_tree(int n, int position, int tree);

/// The double tree between domains, a chain through the ranks of each (in an order rotated by `rotation`). The first
/// rank of the chain holds the connection to the parent and to the left child, the second one that to the right child.
TreeNode chained_tree(const GroupDomains& group, int rank, int tree, int rotation);

}  // namespace strategies
