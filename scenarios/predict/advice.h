// What would relieve a bottleneck of a scenario, leaving out what its plan does already.
#pragma once

#include <string>

#include "scenarios/scenario.h"
#include "sim/step_result.h"

namespace scenarios {

/// One sentence for the kind of time that is lost.
std::string advice_against(sim::TimeKind kind, const Scenario& scenario);
/// "more tensor or pipeline ranks, zero: 1 or a smaller micro_batch"
std::string advice_against_memory(const Scenario& scenario);

}  // namespace scenarios
