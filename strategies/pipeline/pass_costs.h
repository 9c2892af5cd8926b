// What the planner of a schedule assumes about the blocks it arranges.
//
// A Program is built before it is priced, and its order must not depend on who prices it. The planned times are
// therefore those of one nominal device, whatever the cluster: an A100 as Qi et al. (arXiv:2401.10241) profiled it.
// Only their ratios matter, and these are much the same on any GPU.
#pragma once

#include "strategies/pipeline/schedule.h"

namespace strategies {

/// Times in nanoseconds, memory in bytes. `forward`, `input` and `weight`: the blocks of one chunk.
PassCosts pass_costs(const Role& role, const Block& forward, const Block& input, const Block& weight);

}  // namespace strategies
