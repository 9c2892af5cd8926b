// The step of a scenario's Program on the scenario's cluster.
#pragma once

#include "scenarios/scenario.h"
#include "sim/step_result.h"
#include "strategies/program/program.h"

namespace scenarios {

struct SimulationChoice {
  bool records = false;   ///< keep the operations of one step for a timeline
  bool unfolded = false;  ///< every rank by itself, instead of ranks that behave alike once
};

/// Places, prices and simulates `program`. Throws InputError for figures that are legal one by one, but together
/// exceed what can be simulated: an operation that takes absurdly long, a step that could outlast the 64-bit clock.
sim::StepResult simulate_scenario(const Scenario& scenario, const strategies::Program& program,
                                  const SimulationChoice& choice = {});

}  // namespace scenarios
