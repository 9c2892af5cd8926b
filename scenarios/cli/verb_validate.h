// `trainyard validate SCENARIO`
#pragma once

#include <string>
#include <vector>

namespace scenarios {

int run_validate(const std::vector<std::string>& arguments);

}  // namespace scenarios
