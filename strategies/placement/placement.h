// Which GPU hosts which rank, and the NIC it reaches other nodes by. One result serves simulation, execution and
// export.
//
//   packed   rank r on GPU r: the rank order alone decides who is near whom
//   rail     replicas of the same share of the model on the same device of different nodes:
//              position = replica x (ranks of a replica) + place among them: tensor fastest, then context, then stage
//              device   = position mod (GPUs per node)
//              node     = how many lower ranks have this device
//            packed and rail agree in the order tp-cp-pp-dp, and where one tensor (and context) group fills a node and
//            comes first. A replica whose ranks neither divide nor fill whole nodes changes rails from node to node.
//   listed   as given, rank by rank
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw_models/cluster.h"
#include "strategies/program/program.h"

namespace strategies {

/// gpu[rank] = global GPU index.
struct Placement {
  std::vector<int> gpu;
};

/// Where a rank sits.
struct Seat {
  int host = 0;    ///< node of the cluster
  int device = 0;  ///< GPU inside the host
  int nic = -1;    ///< inside the host; -1 = none, or in a PlacementChoice: the nearest to the GPU
  auto operator<=>(const Seat&) const = default;
};

/// One line per rule.
struct PlacementRule {
  std::string_view name, summary;
  Placement (*place)(const Program& program, int gpus_per_host);
};

std::span<const PlacementRule> placement_rules();
const PlacementRule* find_placement_rule(std::string_view name);

/// What the user asks for: a rule, or the seat of every rank (then `rule` only names where they come from).
struct PlacementChoice {
  std::string rule = "packed";
  std::vector<Seat> seats;

  bool listed() const { return !seats.empty(); }
  /// Of listed seats: global GPU -> NIC, for ClusterSpec::chosen_nics.
  std::map<int, int> chosen_nics(int gpus_per_host) const;
};

/// Consecutive ranks fill consecutive GPUs.
Placement packed(const Program& program);
/// Throws std::invalid_argument for an unknown rule and seats of another number of ranks.
Placement place(const Program& program, const PlacementChoice& choice, int gpus_per_host);

/// The NIC is the (first) one that `rank`'s GPU really uses: chosen, nearest, or what it falls back to.
Seat seat_of(const Placement& placement, const hw_models::Cluster& cluster, Rank rank);

/// The distinct groups of one family as GPU indices, ordered by their lowest rank.
std::vector<std::vector<int>> placed_groups(const Program& program, GroupId group, const Placement& placement);
/// The same for a family that need not be one of the Program's.
std::vector<std::vector<int>> placed_groups(const Program& program, const Group& family, const Placement& placement);

}  // namespace strategies
