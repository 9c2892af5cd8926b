// `trainyard accuracy RUNS.csv [MORE.csv]`: predictions against published measured runs.
#pragma once

#include <string>
#include <vector>

namespace scenarios {

int run_accuracy(const std::vector<std::string>& arguments);

}  // namespace scenarios
