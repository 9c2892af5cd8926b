// `trainyard calibrate [--quick] [--out FILE]`
#pragma once

#include <string>
#include <vector>

namespace scenarios {

int run_calibrate(const std::vector<std::string>& arguments);

}  // namespace scenarios
