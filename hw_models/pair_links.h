// Scale-up links between listed pairs of GPUs (ScaleUpKind::kLinks): what a pair or a ring gets of them.
//
//   rings over n >= 3 members: cycles through all of them over their links, each run in both directions (full duplex);
//       the widest cycle first, then the widest that fits into what is left, and so on
//   rate of a ring all-reduce = 2 x sum over those cycles of their narrowest link;  of a pair = its link
//
// NCCL searches its channels in this way: as many rings as the links hold, each with its mirror image.
#pragma once

#include <span>

#include "hw_models/node.h"
#include "hw_models/units.h"

namespace hw_models {

/// A ring search looks at all subsets of a node's GPUs: 2^16 is the limit. The largest such node has 16 (MI250X, MI50).
inline constexpr int kMostLinkedGpus = 16;

/// nullptr: none.
const PairLink* link_between(const NodeSpec& node, int a, int b);

/// The GPU over which the widest way of two links leads from `a` to `b`; the lowest of equals, -1: none.
int relay_between(const NodeSpec& node, int a, int b);

/// Nominal rate of the rings among `members` (local indices, each once); 0 where no ring closes over links alone.
BytesPerSecond linked_ring_bandwidth(const NodeSpec& node, std::span<const int> members);

}  // namespace hw_models
