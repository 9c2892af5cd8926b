// The cluster of a scenario with its faults, and where the ranks of its Program sit on it.
#pragma once

#include "hw_models/cluster.h"
#include "scenarios/scenario.h"
#include "strategies/placement/placement.h"
#include "strategies/program/program.h"

namespace scenarios {

struct PlacedJob {
  hw_models::Cluster cluster;
  strategies::Placement placement;
};

PlacedJob place_job(const Scenario& scenario, const strategies::Program& program);

}  // namespace scenarios
