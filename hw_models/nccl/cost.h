// NCCL's own estimate of one (operation, algorithm, protocol), by which it chooses.
//
//   t = base + intra latency + inter latency + bytes / algorithm bandwidth
//
// The bus bandwidth is channels x bandwidth of a channel, corrected by algorithm and protocol; the algorithm bandwidth
// is ranks / steps of it for rings and NVLS, half of it for trees and CollNet.
//
// NCCL counts d - 1 crossings in a turn of a ring over d domains. A piece of data makes all hops but one; where domains
// hold several ranks, most pieces leave out a hop inside one, so that the last to arrive has crossed d times.
#pragma once

#include <cstdint>
#include <optional>

#include "hw_models/nccl/group.h"

namespace hw_models {

struct NcclCost {
  NcclAlgorithm algorithm = NcclAlgorithm::kNone;
  NcclProtocol protocol = NcclProtocol::kSimple;
  double base = 0, intra = 0, inter = 0;  ///< us
  double late_intra = 0, late_inter = 0;  ///< us, likewise of the last piece of data to arrive
  double bandwidth = 0;                   ///< algorithm bandwidth, GB/s, for large sizes
  double size_factor = 1;                 ///< of the bandwidth at this size (trees)
  double steps = 0;                       ///< of the ring that would do the same
  bool network_bound = false;             ///< the rate between nodes limits, not the one inside

  Seconds time(double bytes) const {
    return Seconds(1e-6 * (base + intra + inter) + bytes / (1e9 * bandwidth * size_factor));
  }
};

/// Steps of a ring: 2 (n - 1) all-reduce, n - 1 all-gather and reduce-scatter, n broadcast and reduce.
double ring_steps(Operation operation, int ranks);

/// nullopt: NCCL does not offer this combination here.
std::optional<NcclCost> nccl_cost(Operation operation, NcclAlgorithm algorithm, NcclProtocol protocol, double bytes,
                                  const NcclGroup& group);

/// The fastest of those that `choice` allows; nullopt when it allows none of them.
std::optional<NcclCost> nccl_choose(Operation operation, double bytes, const NcclGroup& group,
                                    const NcclChoice& choice = {});

}  // namespace hw_models
