// A whole collective as one activity of the fluid network, which is what a simulation of many can afford:
//
//   T(l)    = bytes of all its messages on link l / capacity of l
//   time    = latency + max over l of T(l)         alone; on shared links the network divides them
//   latency = idle run - the longest time in which a connection could move all its bytes
//
// The idle run walks through the members' steps as collective_flows.h does, but on links that are idle:
//
//   end_k = max(t_k + a, end_(k-1)) + bytes of k x c / the least capacity on the path
//
// c: the channels with the same connections, which do the same at the same time (all of NVLS, of a ring on one node).
// so what remains is hops x step latency and the filling of pipelines. A ring on equal links: 2 (n-1) a for every
// slice, since a slice follows the one before; a tree of h hops and k slices on links of rate B: h a + (h-1) S/(k B).
// While a pipeline fills, other channels on a link do not slow it down: right to first order in 1/k.
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
