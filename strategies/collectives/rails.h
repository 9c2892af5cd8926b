// Rail i: the ranks with local number i, one per domain; they reach the network through the same plane of NICs.
#pragma once

#include <vector>

#include "strategies/collectives/group_domains.h"
#include "strategies/collectives/step_writer.h"

namespace strategies {

/// For domains of equal size.
std::vector<int> rail(const GroupDomains& group, int local);

/// The network's side of an in-network all-reduce: piece i of `cut` is summed over rail i and handed back to it.
void network_all_reduce(StepWriter& writer, const GroupDomains& group, const Cut& cut, int channel, int slice);

}  // namespace strategies
