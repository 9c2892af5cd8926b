#include "sim/coupled_collective.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "sim/cluster_links.h"

namespace sim {
namespace {

/// By channel, how many channels have the same connections. Those do the same at the same time.
std::map<int, int> equal_channels(const MessageLanes& lanes) {
  using Connections = std::vector<std::pair<std::uint32_t, int>>;  // path, lane of the sender
  std::map<int, Connections> connections;
  for (const MessageLanes::Connection& connection : lanes.connections()) {
    if (connection.sender == MessageLanes::Connection::kNoLane) continue;
    const MessageLanes::Lane& sender = lanes.lanes()[connection.sender];
    connections[sender.channel].emplace_back(connection.path, sender.lane);
  }
  std::map<Connections, int> counts;
  for (auto& entry : connections) {
    std::ranges::sort(entry.second);
    ++counts[entry.second];
  }
  std::map<int, int> result;
  for (const auto& entry : connections) result[entry.first] = counts[entry.second];
  return result;
}

/// What a collective puts on connections and links.
class Traffic {
 public:
  Traffic(const MessageLanes& lanes, std::span<const hw_models::BytesPerSecond> capacities)
      : lanes_(lanes), bytes_(lanes.connections().size()), loads_(capacities.size()), capacities_(capacities) {
    const std::map<int, int> equal = equal_channels(lanes);
    for (const MessageLanes::Connection& connection : lanes.connections()) {
      const bool used = connection.sender != MessageLanes::Connection::kNoLane;
      sharers_.push_back(used ? equal.at(lanes.lanes()[connection.sender].channel) : 1);
    }
    for (const MessageStep& step : lanes.steps()) {
      if (step.sends()) bytes_[step.connection] += static_cast<double>(lanes.size(step.size).value());
    }
    for (std::uint32_t i = 0; i < bytes_.size(); ++i) {
      for (const LinkUse& use : lanes.path(i).uses) loads_[use.link] += bytes_[i];
    }
  }

  std::vector<LinkUse> uses(hw_models::Bytes whole) const {
    std::vector<LinkUse> result;
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      if (loads_[i] > 0) result.push_back({static_cast<LinkIndex>(i), loads_[i] / static_cast<double>(whole.value())});
    }
    return result;
  }
  /// Of a byte on a path that is idle but for equal channels.
  double pace_ns(std::uint32_t connection) const {
    double slowest = std::numeric_limits<double>::infinity();
    for (const LinkUse& use : lanes_.path(connection).uses) slowest = std::min(slowest, capacities_[use.link].value());
    return 1e9 * sharers_[connection] / slowest;
  }
  /// Of the connection that takes longest for its bytes.
  double longest_ns() const {
    double longest = 0;
    for (std::uint32_t i = 0; i < bytes_.size(); ++i) longest = std::max(longest, bytes_[i] * pace_ns(i));
    return longest;
  }

 private:
  const MessageLanes& lanes_;
  std::vector<double> bytes_;  ///< by connection
  std::vector<int> sharers_;   ///< by connection: it and its equals on other channels
  std::vector<double> loads_;  ///< by link
  std::span<const hw_models::BytesPerSecond> capacities_;
};

class IdleRun {
 public:
  IdleRun(const MessageLanes& lanes, const Traffic& traffic, std::uint32_t slots)
      : lanes_(lanes),
        slots_(slots),
        clock_(lanes.lanes().size()),
        pipes_(lanes.connections().size()),
        messages_(lanes.connections().size() * slots),
        walk_(lanes, slots, *this) {
    for (std::uint32_t i = 0; i < pipes_.size(); ++i) {
      pipes_[i] = {traffic.pace_ns(i), static_cast<double>(lanes.path(i).latency_ns), 0};
    }
  }

  double run() {
    walk_.start();
    walk_.expect_end();
    return clock_.empty() ? 0 : *std::ranges::max_element(clock_);
  }

  // What LaneWalk asks of a wire.
  void sent(std::uint32_t connection, std::uint32_t index, std::uint32_t size, std::uint32_t lane) {
    Message& message = messages_[slot(connection, index)];
    Pipe& pipe = pipes_[connection];
    clock_[lane] = std::max(clock_[lane], message.taken);  // by the message before in this slot
    const double bytes = static_cast<double>(lanes_.size(size).value());
    pipe.end = std::max(clock_[lane] + pipe.latency, pipe.end) + bytes * pipe.pace;
    message.end = pipe.end;
    walk_.arrived(connection);
  }
  void received(std::uint32_t connection, std::uint32_t index, std::uint32_t lane) {
    Message& message = messages_[slot(connection, index)];
    clock_[lane] = std::max(clock_[lane], message.end);
    message.taken = clock_[lane];
  }
  void finished(std::uint32_t /*lane*/) const {}

 private:
  struct Pipe {
    double pace = 0, latency = 0;
    double end = 0;  ///< of the last message
  };
  struct Message {
    double end = 0, taken = 0;
  };

  std::size_t slot(std::uint32_t connection, std::uint32_t index) const {
    return std::size_t{connection} * slots_ + index % slots_;
  }

  const MessageLanes& lanes_;
  const std::uint32_t slots_;
  std::vector<double> clock_;      ///< by lane, ns
  std::vector<Pipe> pipes_;        ///< by connection
  std::vector<Message> messages_;  ///< `slots_` for every connection
  LaneWalk<IdleRun> walk_;
};

}  // namespace

CoupledCollective coupled_collective(const hw_models::Cluster& cluster, const GroupCollective& collective,
                                     std::uint32_t slots) {
  const MessageLanes lanes(cluster, {&collective, 1});
  const std::vector<hw_models::BytesPerSecond> capacities = cluster_links(cluster);
  const Traffic traffic(lanes, capacities);
  const double idle = IdleRun(lanes, traffic, slots).run();
  CoupledCollective result;
  result.bytes = collective.bytes;
  if (collective.bytes.value() > 0) result.uses = traffic.uses(collective.bytes);
  result.latency_ns = std::max<std::int64_t>(0, std::llround(idle - traffic.longest_ns()));
  return result;
}

}  // namespace sim
