// Peak memory of every role, by replaying allocations and frees in program order (a stream-ordered allocator acts when
// operations are issued, so time does not matter).
#pragma once

#include <array>
#include <vector>

#include "hw_models/units.h"
#include "strategies/program/program.h"

namespace sim {

struct RoleMemory {
  hw_models::Bytes peak{};
  std::array<hw_models::Bytes, 5> at_peak{};  ///< by strategies::Holds, at the moment of the peak; sums to `peak`
  int most_microbatches = 0;                  ///< largest number of microbatches with live activations at once
};

/// One entry per role of the program. Replays two steps and reports the second.
std::vector<RoleMemory> replay_memory(const strategies::Program& program);

}  // namespace sim
