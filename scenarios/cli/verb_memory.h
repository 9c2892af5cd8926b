// `trainyard memory SCENARIO`: what every stage holds, and whether it fits.
#pragma once

#include <string>
#include <vector>

namespace scenarios {

int run_memory(const std::vector<std::string>& arguments);

}  // namespace scenarios
