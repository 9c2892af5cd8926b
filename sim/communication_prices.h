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
#include "hw_models/wire_load.h"
#include "sim/rank_classes.h"
#include "strategies/placement/placement.h"
#include "strategies/program/program.h"

namespace sim {

/// What a collective is priced for: the busiest member's bytes.
hw_models::Bytes priced_bytes(const strategies::Collective& collective);

/// What a transfer takes alone, and what it puts on ports meanwhile: a collective on each member's, a message on its
/// sender's.
struct TransferPrice {
  hw_models::Seconds time{};
  const char* algorithm = "";  ///< of a collective
  hw_models::WireLoad load;
};

/// Where the groups of every family lie, and what a collective over them costs. The referees outlive the object.
class CollectivePrices {
 public:
  /// `rank_of_gpu` is the inverse of the placement.
  CollectivePrices(const strategies::Program& program, const RankClasses& classes, const hw_models::Cluster& cluster,
                   const strategies::Placement& placement, const hw_models::Network& network,
                   std::vector<int> rank_of_gpu);

  /// The slowest of the groups that hold ranks of the class; the largest member decides an uneven all-to-all.
  /// Throws std::invalid_argument for a forced algorithm and for a class outside all groups.
  const TransferPrice& of(const strategies::Collective& collective, std::uint32_t process);

 private:
  using Layouts = std::set<hw_models::GroupLayout>;
  using Kind = strategies::CollectiveKind;

  hw_models::CollectiveEstimate on(Kind kind, hw_models::Bytes bytes, const hw_models::GroupLayout& layout);
  const Layouts& layouts(strategies::GroupId group, std::uint32_t process);
  std::vector<Layouts> layouts_by_class(strategies::GroupId group) const;
  int pool_of(std::uint32_t process) const;

  const strategies::Program& program_;
  const RankClasses& classes_;
  const hw_models::Cluster& cluster_;
  const strategies::Placement& placement_;
  const hw_models::Network& network_;
  std::vector<int> rank_of_gpu_;
  std::map<strategies::GroupId, std::vector<Layouts>> families_;
  std::map<std::tuple<Kind, hw_models::Bytes, hw_models::GroupLayout>, hw_models::CollectiveEstimate> by_layout_;
  std::map<std::tuple<std::uint32_t, strategies::GroupId, Kind, hw_models::Bytes>, TransferPrice> by_class_;
};

/// One message for every kind of path that the ranks of a class use towards one virtual stage.
class SendPrices {
 public:
  SendPrices(const strategies::Program& program, const RankClasses& classes, const hw_models::Cluster& cluster,
             const strategies::Placement& placement, const hw_models::Network& network);

  /// The slowest over the ranks of the class. All ranks of its role send at once and share NICs at both ends.
  TransferPrice of(const strategies::Send& send, std::uint32_t process);

 private:
  struct Path {
    int from = 0, to = 0;             ///< GPUs
    hw_models::NicSharers sharers{};  ///< between NICs of one rate: both those of the busier one
    hw_models::FlowShare share{};
  };
  /// What decides the price: inside a node the two GPUs' places; between nodes the domain, the tier of the fabric, the
  /// two places and their NICs; how many messages share those, and what thin links and hashed routing leave. A GPU's
  /// place: its pool, and its index inside the node.
  using Place = std::pair<int, int>;
  using Likeness =
      std::tuple<bool, bool, int, Place, Place, int, int, int, int, hw_models::NicSharers, hw_models::FlowShare>;

  using Paths = std::vector<std::vector<Path>>;  ///< by class

  const std::vector<Path>& paths(std::uint32_t process, int virtual_stage);
  Paths find_paths(std::uint32_t role, int virtual_stage) const;
  hw_models::NicSharers sharers(const Path& path, int out, int in) const;
  Place place(int gpu) const { return {cluster_.pool_of(gpu), cluster_.local_of(gpu)}; }
  Likeness likeness(const Path& path) const;

  const strategies::Program& program_;
  const RankClasses& classes_;
  const hw_models::Cluster& cluster_;
  const strategies::Placement& placement_;
  const hw_models::Network& network_;
  std::vector<std::vector<strategies::Rank>> ranks_of_role_;
  std::map<std::pair<std::uint32_t, int>, Paths> paths_;  ///< by role and virtual stage
};

}  // namespace sim
