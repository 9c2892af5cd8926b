// `trainyard catalog [KIND] [NAME] [--json] [--catalog DIR] [--help]`.
#pragma once

#include <string>
#include <vector>

namespace scenarios {

/// Prints to standard output; see Verb::run for the exit code and the exceptions.
int run_catalog(const std::vector<std::string>& arguments);

}  // namespace scenarios
