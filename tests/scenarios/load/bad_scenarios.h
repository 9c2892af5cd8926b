// Scenarios with mistakes, and the whole text that the user then reads.
#pragma once

#include <vector>

namespace scenarios {

struct BadScenario {
  const char *name, *text, *printed;
};

/// All of them.
const std::vector<BadScenario>& bad_scenarios();
/// Those about lists of nodes, faults and placement.
const std::vector<BadScenario>& bad_machines();

}  // namespace scenarios
