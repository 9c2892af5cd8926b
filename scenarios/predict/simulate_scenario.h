// The step of a scenario's Program on the scenario's cluster.
//
// Ranks of a role count as alike, the slowest of them for all, unless something makes one differ (a mixed cluster,
// faults, a listed placement, hashed routing): then ranks of the same prices and partners are (sim/rank_classes.h).
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/predict/placed_job.h"
#include "scenarios/scenario.h"
#include "sim/step_result.h"
#include "strategies/program/program.h"

namespace scenarios {

struct SimulationChoice {
  bool records = false;   ///< keep the operations of one step for a timeline
  bool unfolded = false;  ///< every rank by itself, instead of ranks that behave alike once
  bool split = false;     ///< ranks of a role whose prices differ apart, also where nothing is at fault
};

/// Prices and simulates `program` as placed. Throws InputError for figures that are legal one by one, but together
/// exceed what can be simulated: an operation that takes absurdly long, a step that could outlast the 64-bit clock.
sim::StepResult simulate_scenario(const Scenario& scenario, const strategies::Program& program, const PlacedJob& job,
                                  const SimulationChoice& choice = {});

/// The step without the scenario's faults, folded by price as it is with them.
std::int64_t sound_step_ns(const Scenario& scenario, const strategies::Program& program);

/// What hashed routing costs the step whose time is `step_ns`; empty where routing is balanced.
std::string routing_warning(const Scenario& scenario, const strategies::Program& program, const PlacedJob& job,
                            std::int64_t step_ns);

}  // namespace scenarios
