#include "sim/collective_flows.h"

#include <algorithm>
#include <cstddef>

#include "sim/cluster_links.h"
#include "sim/engine.h"
#include "sim/fluid_network.h"

namespace sim {
namespace {

class Flows {
 public:
  Flows(const MessageLanes& lanes, std::span<const hw_models::BytesPerSecond> capacities, std::uint32_t slots)
      : lanes_(lanes),
        slots_(slots),
        network_(engine_, capacities, 0),
        queued_(lanes.connections().size() * slots),
        walk_(lanes, slots, *this) {
    times_.end_ns.resize(lanes.collectives());
  }

  CollectiveTimes run() {
    walk_.start();
    engine_.run([this](EventId id) {
      network_.handle(id, [this](std::uint64_t tag) { ended(static_cast<std::uint32_t>(tag)); });
    });
    walk_.expect_end();
    return times_;
  }

  // What LaneWalk asks of a wire.
  void sent(std::uint32_t connection, std::uint32_t index, std::uint32_t size, std::uint32_t /*lane*/) {
    queued_[slot(connection, index)] = {engine_.now() + lanes_.path(connection).latency_ns, size};
    if (index == walk_.arrivals(connection)) start(connection, index);
  }
  void received(std::uint32_t, std::uint32_t, std::uint32_t) const {}
  void finished(std::uint32_t lane) {
    std::int64_t& end = times_.end_ns[lanes_.lanes()[lane].collective];
    end = std::max(end, engine_.now());
  }

 private:
  struct Message {
    std::int64_t earliest_begin = 0;
    std::uint32_t size = 0;
  };

  std::size_t slot(std::uint32_t connection, std::uint32_t index) const {
    return std::size_t{connection} * slots_ + index % slots_;
  }

  void start(std::uint32_t connection, std::uint32_t index) {
    const Message& message = queued_[slot(connection, index)];
    ++times_.flows;
    network_.start({.work = lanes_.size(message.size),
                    .uses = lanes_.path(connection).uses,
                    .tag = connection,
                    .latency_ns = std::max<std::int64_t>(0, message.earliest_begin - engine_.now())});
  }

  void ended(std::uint32_t connection) {
    walk_.arrived(connection);
    const std::uint32_t next = walk_.arrivals(connection);
    if (walk_.sent(connection) != next) start(connection, next);
    walk_.drain();
  }

  const MessageLanes& lanes_;
  const std::uint32_t slots_;
  Engine engine_;
  FluidNetwork network_;
  std::vector<Message> queued_;  ///< `slots_` for every connection
  CollectiveTimes times_;
  LaneWalk<Flows> walk_;
};

}  // namespace

CollectiveTimes run_collectives(const hw_models::Cluster& cluster, std::span<const GroupCollective> collectives,
                                std::uint32_t slots) {
  return run_collectives(MessageLanes(cluster, collectives), cluster_links(cluster), slots);
}

CollectiveTimes run_collectives(const MessageLanes& lanes, std::span<const hw_models::BytesPerSecond> capacities,
                                std::uint32_t slots) {
  return Flows(lanes, capacities, slots).run();
}

}  // namespace sim
