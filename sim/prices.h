// What every operation of a Program costs on given hardware, in integer nanoseconds. The simulation itself knows
// no hardware: tests hand it prices of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/port_sharing.h"
#include "sim/rank_classes.h"
#include "strategies/program/program.h"

namespace sim {

struct OperationPrice {
  std::int64_t issue_ns = 0;      ///< host time to issue it (0 for host operations)
  std::int64_t duration_ns = 0;   ///< on its lane; of a send: transfer time; of a receive: 0; of host work: host time
  double flops = 0;               ///< matrix FLOPs actually executed
  const char* algorithm = "";     ///< resolved collective algorithm
  LoadId load = kNoLoad;          ///< collectives, sends; a receive has its send's, seen from the other end
  Bound bound = Bound::kNothing;  ///< kernels
};

/// of[process][block][operation]: one process per class of ranks; blocks and operations as in the class's role.
struct Prices {
  RankClasses classes;
  std::vector<std::vector<std::vector<OperationPrice>>> of;
  PortLoads loads;
  /// Samples per nanosecond the input pipeline delivers to the whole job; 0 = unlimited.
  double input_samples_per_ns = 0;

  const OperationPrice& at(std::uint32_t process, std::uint32_t block, strategies::OperationId operation) const {
    return of[process][block][operation.value];
  }
};

}  // namespace sim
