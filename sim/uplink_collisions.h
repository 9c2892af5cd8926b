// How badly flows collide on the uplinks of a fabric with hashed routing.
#pragma once

#include <string>
#include <vector>

#include "hw_models/cluster.h"
#include "strategies/placement/placement.h"
#include "strategies/program/program.h"

namespace sim {

struct UplinkCollisions {
  std::string family;  ///< name of the groups, or "messages" between stages
  int flows = 1;       ///< that share the worst uplink; 1: none collide
};

/// In order of the Program's groups, messages last; only what the Program uses.
std::vector<UplinkCollisions> uplink_collisions(const strategies::Program& program, const hw_models::Cluster& cluster,
                                                const strategies::Placement& placement);

}  // namespace sim
