// The step of a scenario's Program on the scenario's cluster.
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/scenario.h"
#include "sim/step_result.h"
#include "strategies/program/program.h"

namespace scenarios {

struct SimulationChoice {
  bool records = false;   ///< keep the operations of one step for a timeline
  bool unfolded = false;  ///< every rank by itself, instead of ranks that behave alike once
  bool split = false;     ///< ranks of a role whose prices differ apart, also where nothing is at fault
};

/// Places, prices and simulates `program`. Throws InputError for figures that are legal one by one, but together
/// exceed what can be simulated: an operation that takes absurdly long, a step that could outlast the 64-bit clock.
sim::StepResult simulate_scenario(const Scenario& scenario, const strategies::Program& program,
                                  const SimulationChoice& choice = {});

/// What hashed routing costs the step whose time is `step_ns`; empty where routing is balanced.
std::string routing_warning(const Scenario& scenario, const strategies::Program& program, std::int64_t step_ns);

}  // namespace scenarios
