// The slow and obvious form of max-min fairness and of a fluid network: everything is filled anew at every change.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/fluid_cases.h"

namespace sim {

/// Rates in bytes/s of the transfers at the given indices, all under way at once.
std::vector<double> progressive_filling(const std::vector<double>& capacities,
                                        const std::vector<FluidCase::Transfer>& transfers,
                                        const std::vector<std::size_t>& active);

/// When each transfer ends, in nanoseconds; -1 if it never does.
std::vector<std::int64_t> slow_ends(FluidCase fluid_case);

}  // namespace sim
