// NVLink SHARP inside a domain: local rank i owns piece i. The switch reads the piece from every rank, adds, and hands
// the sum to the owner (multimem.ld_reduce); what an owner writes, the switch copies to every rank, the owner included
// (multimem.st). What the owner does in between is the caller's: nothing, a tree, or the network.
#pragma once

#include "strategies/collectives/algorithm.h"
#include "strategies/collectives/step_writer.h"

namespace strategies {

/// Steps of one rank on channel and slice of `cut`, which has one block per local rank. Lanes: 0 offers all pieces to
/// the switch, 1 takes the own sum (and sends it up `owner`), 2 brings the result down, 3 receives all pieces.
void nvls_rank_all_reduce(StepWriter& writer, const GroupDomains& group, int rank, TreeNode owner, const Cut& cut,
                          int channel, int slice);

/// The switch's side. Lanes: 0 sums, 1 multicasts.
void nvls_switch_all_reduce(StepWriter& writer, const GroupDomains& group, int domain, const Cut& cut, int channel,
                            int slice);

}  // namespace strategies
