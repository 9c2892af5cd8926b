// Simulates consecutive steps of a Program under given prices, one process per class of ranks.
#pragma once

#include "sim/prices.h"
#include "sim/step_result.h"
#include "strategies/program/program.h"

namespace sim {

struct StepOptions {
  int steps = 2;  ///< >= 2; the last one is reported
  bool records = false;
};

/// Operation by operation: RankInterpreter driven by the event engine. The slow, obvious reference.
StepResult simulate_operations(const strategies::Program& program, const Prices& prices,
                               const StepOptions& options = {},
                               const strategies::LaneEngines& engines = strategies::independent_lanes());

/// Lane by lane, consecutive kernels at once. Equal to the reference to the nanosecond.
StepResult simulate_lanes(const strategies::Program& program, const Prices& prices, const StepOptions& options = {});

}  // namespace sim
