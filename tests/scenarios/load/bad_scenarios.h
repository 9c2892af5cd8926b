// Scenarios with mistakes, and the whole text that the user then reads.
#pragma once

#include <vector>

namespace scenarios {

struct BadScenario {
  const char *name, *text, *printed;
};

const std::vector<BadScenario>& bad_scenarios();

}  // namespace scenarios
