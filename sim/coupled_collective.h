// A whole collective as one activity of the fluid network, which is what a simulation of many can afford:
//
//   load(l) = bytes of all its messages on link l / capacity of l
//   time    = latency + max over l of load(l)      alone; on shared links the network divides them
//   latency = T - max over l of load(l)
//   T       = T(j) + (k - j) x period              k slices, of which the first j fill the pipelines
//
// T(j) is the time of the first j slices message by message (collective_flows.h): while pipelines fill, channels meet
// on links as chance has it, and NCCL's cut (nccl_cut.h) gives most collectives up to 16 MiB too few slices to get
// beyond. What follows is a formula:
//
//   slices that wait for each other (rings, PAT):    j = 2,  period = T(2) - T(1)
//   else the busiest link sets the pace:             j = max(2 slots, hops),  period = max over l of load(l) / k
//
// Pipelines of trees and chains are full when every hop has a slice and every connection has had the time to use up its
// slots. Channels with the same connections do the same at the same time: c of them are simulated as one on links of
// 1/c of the capacity. So the work is bounded, whatever the size.
#pragma once

#include <cstdint>
#include <vector>

#include "hw_models/cluster.h"
#include "sim/fluid_network.h"
#include "sim/lane_walk.h"
#include "sim/message_lanes.h"

namespace sim {

struct CoupledCollective {
  hw_models::Bytes bytes{};   ///< S
  std::vector<LinkUse> uses;  ///< by ascending link; bytes on it per byte of S
  std::int64_t latency_ns = 0;

  /// Refers to `uses`.
  FluidActivity activity(std::uint64_t tag) const {
    return {.work = bytes, .uses = uses, .tag = tag, .latency_ns = latency_ns};
  }
};

/// Throws as run_collectives() does.
CoupledCollective coupled_collective(const hw_models::Cluster& cluster, const GroupCollective& collective,
                                     std::uint32_t slots = kConnectionSlots);

}  // namespace sim
