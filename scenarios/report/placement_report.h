// How the groups of a job lie on its cluster, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/predict/prediction.h"

namespace scenarios {

/// One line per family of groups.
std::string placement_text(const Scenario& scenario, const PlacementPrediction& placement);

/// {"rule","families":[{"name","groups","ranks","hosts":[least,most],"domains":[],"ranks_per_host":[],"rails":[],
/// "across_domains","across_units","misrailed"}]}
nlohmann::ordered_json placement_json(const PlacementPrediction& placement);

}  // namespace scenarios
