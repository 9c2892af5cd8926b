// What is wrong with where the groups of a job lie, and the way out.
#pragma once

#include <string>
#include <vector>

#include "scenarios/predict/placed_job.h"
#include "scenarios/scenario.h"
#include "strategies/placement/group_spread.h"

namespace scenarios {

/// One sentence and an advice for tensor groups outside a scale-up domain and for mis-railed families. `families`: of
/// `job`, from strategies::spread_families.
std::vector<std::string> placement_warnings(const Scenario& scenario, const strategies::Program& program,
                                            const PlacedJob& job,
                                            const std::vector<strategies::FamilySpread>& families);

}  // namespace scenarios
