// What the collectives and messages of a Program cost on a placed cluster, memoised: price_program's other half.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "hw_models/cluster.h"
#include "hw_models/network.h"
#include "hw_models/units.h"
#include "strategies/placement/placement.h"
#include "strategies/program/program.h"

namespace sim {

/// Where the groups of every family lie, and what a collective over them costs. The referees outlive the object.
class CollectivePrices {
 public:
  /// `rank_of_gpu` is the inverse of the placement.
  CollectivePrices(const strategies::Program& program, const strategies::Placement& placement,
                   const hw_models::Network& network, std::vector<int> rank_of_gpu);

  /// The slowest of the groups that hold ranks of `role`; the largest member decides an uneven all-to-all.
  /// Throws std::invalid_argument for a forced algorithm and for a role outside all groups.
  hw_models::CollectiveEstimate of(const strategies::Collective& collective, std::uint32_t role);

 private:
  using Layouts = std::set<hw_models::GroupLayout>;
  using Kind = strategies::CollectiveKind;

  hw_models::CollectiveEstimate on(Kind kind, hw_models::Bytes bytes, const hw_models::GroupLayout& layout);
  const Layouts& layouts(strategies::GroupId group, std::uint32_t role);
  std::vector<Layouts> layouts_by_role(strategies::GroupId group) const;

  const strategies::Program& program_;
  const strategies::Placement& placement_;
  const hw_models::Network& network_;
  std::vector<int> rank_of_gpu_;
  std::map<strategies::GroupId, std::vector<Layouts>> families_;
  std::map<std::tuple<Kind, hw_models::Bytes, hw_models::GroupLayout>, hw_models::CollectiveEstimate> by_layout_;
  std::map<std::tuple<std::uint32_t, strategies::GroupId, Kind, hw_models::Bytes>, hw_models::CollectiveEstimate>
      by_role_;
};

/// One message for every kind of path that the ranks of a role use towards one virtual stage.
class SendPrices {
 public:
  SendPrices(const strategies::Program& program, const hw_models::Cluster& cluster,
             const strategies::Placement& placement, const hw_models::Network& network);

  /// The slowest over the ranks of `role`, which send at once and share their node's NICs.
  hw_models::Seconds of(const strategies::Send& send, std::uint32_t role);

 private:
  struct Path {
    int from = 0, to = 0;  ///< GPUs
    int sharers = 1;
  };
  /// What decides the price: inside a node the two GPUs' places; between nodes the domain, the unit of the fabric,
  /// the two places; and how many messages share the NIC.
  using Likeness = std::tuple<bool, bool, bool, int, int, int>;

  const std::vector<Path>& paths(std::uint32_t role, int virtual_stage);
  std::vector<Path> find_paths(std::uint32_t role, int virtual_stage) const;
  bool leaves_domain(const Path& path) const;
  Likeness likeness(const Path& path) const;

  const strategies::Program& program_;
  const hw_models::Cluster& cluster_;
  const strategies::Placement& placement_;
  const hw_models::Network& network_;
  std::vector<std::vector<strategies::Rank>> ranks_of_role_;
  std::map<std::pair<std::uint32_t, int>, std::vector<Path>> paths_;
};

}  // namespace sim
