// Collectives message by message: every send of every member is a flow on the links of the cluster. The reference for
// the coupled form (coupled_collective.h).
//
//   message k of a connection, handed over at t_k, over a path with latency a:
//   begin_k = max(t_k + a, end_(k-1)),   end_k = begin_k + its bytes at the rate the links leave it
//
// A connection is a pipe: its messages follow each other, their latencies overlap. What runs when is step.h's: members
// go on while a slot is free and wait for what they receive. Reductions and copies cost no time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hw_models/cluster.h"
#include "sim/lane_walk.h"
#include "sim/message_lanes.h"

namespace sim {

struct CollectiveTimes {
  std::vector<std::int64_t> end_ns;  ///< by collective: when its last step is done
  std::uint64_t flows = 0;
};

/// All collectives start at 0 and share the links. Throws std::invalid_argument as MessageLanes does, and
/// std::runtime_error when a member waits for ever or a message is not received.
CollectiveTimes run_collectives(const hw_models::Cluster& cluster, std::span<const GroupCollective> collectives,
                                std::uint32_t slots = kConnectionSlots);
/// Those of `lanes` on links of other capacities.
CollectiveTimes run_collectives(const MessageLanes& lanes, std::span<const hw_models::BytesPerSecond> capacities,
                                std::uint32_t slots = kConnectionSlots);

}  // namespace sim
