// Refuses scenarios whose figures are legal one by one, but together exceed what can be simulated.
#pragma once

#include "scenarios/scenario.h"
#include "sim/prices.h"
#include "strategies/program/program.h"

namespace scenarios {

/// sim::price_program of the scenario; throws InputError when one operation would take absurdly long.
sim::Prices price_scenario(const Scenario& scenario, const strategies::Program& program);

/// Throws InputError when a step could outlast the simulator's 64-bit nanosecond clock.
void check_duration(const Scenario& scenario, const strategies::Program& program, const sim::Prices& prices);

}  // namespace scenarios
