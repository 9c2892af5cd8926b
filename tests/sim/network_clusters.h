// Clusters written out by hand, and collectives on them, for the tests of message-level collectives.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hw_models/cluster.h"
#include "sim/message_lanes.h"

namespace sim {

/// 8 GPUs on a switch that reduces, 450 GB/s x 0.8, 0.6 us per hop; one NIC each, 50 GB/s x 0.92, rails. Far messages
/// take four PCIe hops of 0.4 us, 1 us, and 0.2 us per switch.
hw_models::ClusterSpec dgx_h100(int nodes);
/// 8 GPUs on a switch, two per NIC of 12.5 GB/s, one leaf; line rates.
hw_models::ClusterSpec shared_nics(int nodes);
/// 8 GPUs on a switch, four NICs of 12.5 GB/s each; line rates.
hw_models::ClusterSpec four_nics_each(int nodes);

std::vector<int> gpu_range(int first, int last);  ///< [first, last)

/// Throws std::invalid_argument for an unknown algorithm.
GroupCollective group_collective(std::string_view algorithm, const strategies::Exchange& exchange, std::int64_t bytes,
                                 std::vector<int> gpus);

}  // namespace sim
