// Collectives as the messages of their members, laid out for a run of millions of steps: eight bytes a step, one table
// each of lanes, connections and paths. A member's steps are generated once and packed at once, so that a ring over
// 1,024 ranks (4.2 M steps) takes 34 MB. Copies inside a member are left out; they cost no time on the network.
//
// A message of a slice with `count` blocks [begin, end) of `parts` has ceil(S count (end - begin) / parts) bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hw_models/cluster.h"
#include "hw_models/units.h"
#include "sim/cluster_links.h"
#include "strategies/collectives/algorithm.h"

namespace sim {

/// One collective of one group. Its domains are those of the cluster.
struct GroupCollective {
  const strategies::CollectiveAlgorithm* algorithm = nullptr;
  strategies::Exchange exchange;
  hw_models::Bytes bytes{};  ///< S, the whole buffer
  std::vector<int> gpus;     ///< of every rank
};

/// Domain of every rank, for algorithms that ask.
strategies::GroupDomains group_domains(const hw_models::Cluster& cluster, std::span<const int> gpus);

struct MessageStep {
  static constexpr std::uint32_t kReceives = ~0U;
  std::uint32_t connection = 0;
  std::uint32_t size = kReceives;  ///< of what it sends: an index for MessageLanes::size()

  bool sends() const { return size != kReceives; }
};

class MessageLanes {
 public:
  struct Lane {
    std::size_t first = 0, last = 0;  ///< steps
    std::uint32_t collective = 0;
    int member = 0, channel = 0, lane = 0;
  };
  struct Connection {
    static constexpr std::uint32_t kNoLane = ~0U;
    std::uint32_t path = 0;
    std::uint32_t sender = kNoLane, receiver = kNoLane;  ///< lanes
  };

  /// Throws std::invalid_argument: an algorithm that refuses, a GPU twice in a group, a switch that is not there.
  MessageLanes(const hw_models::Cluster& cluster, std::span<const GroupCollective> collectives);

  std::size_t collectives() const { return domains_.size(); }
  std::span<const MessageStep> steps() const { return steps_; }
  std::span<const Lane> lanes() const { return lanes_; }
  std::span<const Connection> connections() const { return connections_; }
  const LinkPath& path(std::uint32_t connection) const { return paths_[connections_[connection].path]; }
  hw_models::Bytes size(std::uint32_t index) const { return sizes_[index]; }
  /// "collective 0, rank 3, channel 1, lane 0".
  std::string name(const Lane& lane) const;

 private:
  class Packer;

  std::vector<MessageStep> steps_;
  std::vector<Lane> lanes_;
  std::vector<Connection> connections_;
  std::vector<LinkPath> paths_;
  std::vector<hw_models::Bytes> sizes_;
  std::vector<strategies::GroupDomains> domains_;  ///< by collective
};

}  // namespace sim
