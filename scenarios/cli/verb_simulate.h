// `trainyard simulate SCENARIO`: predicts the step and the whole run.
#pragma once

#include <string>
#include <vector>

namespace scenarios {

int run_simulate(const std::vector<std::string>& arguments);

}  // namespace scenarios
