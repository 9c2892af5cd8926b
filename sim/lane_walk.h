// Walks the lanes of collectives as far as their messages allow: a send waits while its connection holds `slots`
// messages that are not received, a receive waits for its message (step.h). When a message arrives is the Wire's:
//
//   wire.sent(connection, index, size, lane)   message number `index` is handed over; arrived() now or later
//   wire.received(connection, index, lane)     it is taken out
//   wire.finished(lane)                        no step is left
//
// Messages of a connection arrive in order. The order in which lanes are tried depends on nothing but the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "sim/message_lanes.h"

namespace sim {

/// NCCL_STEPS of NCCL (src/include/device.h): buffers in flight per connection.
inline constexpr std::uint32_t kConnectionSlots = 8;

template <class Wire>
class LaneWalk {
 public:
  LaneWalk(const MessageLanes& lanes, std::uint32_t slots, Wire& wire)
      : lanes_(lanes), wire_(wire), slots_(slots), next_(lanes.lanes().size()), counts_(lanes.connections().size()) {
    if (slots == 0) throw std::invalid_argument("a connection needs a slot");
    for (std::size_t lane = 0; lane < next_.size(); ++lane) next_[lane] = lanes.lanes()[lane].first;
  }

  void start() {
    for (std::uint32_t lane = 0; lane < next_.size(); ++lane) walk(lane);
    drain();
  }
  /// Lanes that this lets go on do so at the next drain().
  void arrived(std::uint32_t connection) {
    ++counts_[connection].arrived;
    wake(lanes_.connections()[connection].receiver, connection);
  }
  void drain() {
    while (!awake_.empty()) {
      const std::uint32_t lane = awake_.back();
      awake_.pop_back();
      walk(lane);
    }
  }

  std::uint32_t sent(std::uint32_t connection) const { return counts_[connection].sent; }
  std::uint32_t arrivals(std::uint32_t connection) const { return counts_[connection].arrived; }
  /// Throws std::runtime_error naming a lane that waits for ever, or the sender of what nobody receives.
  void expect_end() const {
    for (std::size_t lane = 0; lane < next_.size(); ++lane) {
      if (next_[lane] != lanes_.lanes()[lane].last) {
        throw std::runtime_error(lanes_.name(lanes_.lanes()[lane]) + " waits for ever");
      }
    }
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i].received == counts_[i].sent) continue;
      throw std::runtime_error("nobody receives what " + lanes_.name(lanes_.lanes()[lanes_.connections()[i].sender]) +
                               " sends");
    }
  }

 private:
  struct Counts {
    std::uint32_t sent = 0, arrived = 0, received = 0;
  };

  void wake(std::uint32_t lane, std::uint32_t connection) {
    if (lane == MessageLanes::Connection::kNoLane) return;
    const std::size_t next = next_[lane];
    if (next != lanes_.lanes()[lane].last && lanes_.steps()[next].connection == connection) awake_.push_back(lane);
  }

  void walk(std::uint32_t lane) {
    const std::size_t last = lanes_.lanes()[lane].last;
    if (next_[lane] == last) return;
    while (next_[lane] != last) {
      const MessageStep step = lanes_.steps()[next_[lane]];
      if (!(step.sends() ? send(step, lane) : receive(step, lane))) return;
    }
    wire_.finished(lane);
  }

  bool send(MessageStep step, std::uint32_t lane) {
    Counts& counts = counts_[step.connection];
    if (counts.sent - counts.received == slots_) return false;
    ++next_[lane];
    const std::uint32_t index = counts.sent++;
    wire_.sent(step.connection, index, step.size, lane);
    return true;
  }

  bool receive(MessageStep step, std::uint32_t lane) {
    Counts& counts = counts_[step.connection];
    if (counts.arrived == counts.received) return false;
    ++next_[lane];
    const std::uint32_t index = counts.received++;
    wire_.received(step.connection, index, lane);
    wake(lanes_.connections()[step.connection].sender, step.connection);
    return true;
  }

  const MessageLanes& lanes_;
  Wire& wire_;
  const std::uint32_t slots_;
  std::vector<std::size_t> next_;  ///< step of every lane
  std::vector<Counts> counts_;     ///< by connection
  std::vector<std::uint32_t> awake_;
};

}  // namespace sim
