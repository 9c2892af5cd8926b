// How the groups of a Program lie on the cluster: on how many nodes, with how many ranks on each, on which rails.
//
//   rails of a group in a domain = the NICs, by their index inside the node, that its members there use
//   mis-railed                   = a rail-optimised fabric, and the group's rails differ between its domains: what it
//                                  sends leaves its leaf through a spine, or is handed to a neighbour on the right rail
//   a pipeline is mis-railed when two neighbouring stages in different domains send and receive on different rails
#pragma once

#include <string>
#include <vector>

#include "hw_models/cluster.h"
#include "strategies/placement/placement.h"
#include "strategies/program/program.h"

namespace strategies {

struct Extent {
  int least = 0, most = 0;
  auto operator<=>(const Extent&) const = default;
};

/// All groups of one family, e.g. all tensor groups.
struct FamilySpread {
  std::string name;  ///< the group's; "pipeline" for the stages that exchange messages
  int groups = 0;
  int ranks = 0;  ///< of a group
  Extent hosts, domains, ranks_per_host;
  Extent rails;            ///< that a group uses, over all its members
  int across_domains = 0;  ///< groups that leave their scale-up domain
  int across_units = 0;    ///< groups that leave their unit of the fabric
  int misrailed = 0;
  bool operator==(const FamilySpread&) const = default;
};

/// The families that communicate and have more than one rank, in order of the Program's groups, the pipeline last.
std::vector<FamilySpread> spread_families(const Program& program, const Placement& placement,
                                          const hw_models::Cluster& cluster);

}  // namespace strategies
