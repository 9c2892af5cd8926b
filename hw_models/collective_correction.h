// What a system adds to the collective library's own cost model: four numbers for all collectives, algorithms,
// protocols and sizes, fitted to sweeps of nccl-tests (docs/nccl.md). hw_models/nccl/estimate.h holds the
// equation.
#pragma once

#include "hw_models/units.h"

namespace hw_models {

/// Of a node: groups inside one scale-up domain.
struct NodeCorrection {
  Seconds launch{};      ///< fixed cost of a low-latency operation
  double step = 1;       ///< factor on the library's latency of a step
  double bandwidth = 1;  ///< factor on the rate of rings, trees and messages
  Seconds ramp{};        ///< what large operations lose to filling their pipelines
};

/// Of a fabric: groups that cross it. Its bandwidth factor is FabricSpec::efficiency.
struct FabricCorrection {
  Seconds launch{};  ///< on top of the node's
  double step = 1;   ///< factor on the latency of a network step
  Seconds ramp{};    ///< in place of the node's
};

}  // namespace hw_models
