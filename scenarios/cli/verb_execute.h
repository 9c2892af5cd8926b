// `trainyard execute`: trains the scenario's plan for real.
#pragma once

#include <string>
#include <vector>

namespace scenarios {

int run_execute(const std::vector<std::string>& arguments);

}  // namespace scenarios
