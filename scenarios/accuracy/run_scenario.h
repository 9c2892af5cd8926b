// A measured run as a scenario, or the reason why this version cannot predict it.
#pragma once

#include <string>
#include <variant>

#include "scenarios/accuracy/measured_run.h"
#include "scenarios/catalog.h"
#include "scenarios/scenario.h"

namespace scenarios {

struct RunScenario {
  Scenario scenario;
  bool usual_software = false;     ///< the named stack is unknown: 'generic' stands in
  bool usual_network = false;      ///< the network is unknown: the node's usual one stands in
  bool recompute_unknown = false;  ///< predicted without recomputation; the truth lies between none and full
  bool overlap_unstated = false;   ///< replicas reduce beside the backward or after it as the stack does
};

struct Skipped {
  std::string reason;  ///< a few words, equal for equal reasons
};

std::variant<RunScenario, Skipped> scenario_of(const MeasuredRun& run, const Catalog& catalog);

}  // namespace scenarios
