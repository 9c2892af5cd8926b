// What a process waits for outside itself: messages, collectives it shares with other processes, the input pipeline.
//
// One process stands for all ranks of a class, so a rank of its own class is never waited for: it arrives at the same
// time. Where classes are roles, replicas are unequal and ranks of one role have peers of different roles, the peers of
// the representative count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "sim/prices.h"
#include "strategies/program/program.h"

namespace sim {

/// Position of a meeting operation within one step of all processes.
using Slot = std::uint32_t;

/// kJoint: a collective whose group has ranks of several classes. It starts when the last one is ready, ends for all at
/// once and takes the longest of their prices.
enum class Meeting : std::uint8_t { kNone, kSend, kReceive, kJoint };

class Rendezvous {
 public:
  /// Throws std::invalid_argument when a receive has no send or a collective no counterpart.
  Rendezvous(const strategies::Program& program, const Prices& prices);

  /// `role` of the process.
  Meeting meeting(std::uint32_t role, std::uint32_t block, std::uint32_t operation) const {
    return blocks_[role][block].meetings[operation];
  }
  /// Slot of a meeting operation, called by `action` (whose block is `block`).
  Slot slot(std::uint32_t process, std::uint32_t action, std::uint32_t block, std::uint32_t operation) const {
    return first_slot_[process][action] + blocks_[roles_[process]][block].index[operation];
  }
  /// Slots of the operations this one waits for. Receive: its send. Joint: all of them, its own included.
  std::span<const Slot> awaited(Slot slot) const {
    return {awaited_.data() + awaited_of_[slot].first, awaited_of_[slot].count};
  }
  /// The role whose operation it is.
  std::uint32_t role(Slot slot) const { return role_[slot]; }
  /// Of a joint collective.
  std::int64_t duration_ns(Slot slot) const { return duration_[slot]; }
  std::size_t slots() const { return duration_.size(); }

 private:
  struct BlockMeetings {
    std::vector<Meeting> meetings;     ///< by operation
    std::vector<std::uint32_t> index;  ///< by operation: how many meeting operations precede it
    std::uint32_t count = 0;
  };
  /// Where in awaited_; the members of a joint collective share one list.
  struct Awaited {
    std::size_t first = 0;
    std::uint32_t count = 0;
  };
  struct Meeters;
  /// (process that sends, microbatch, from, to, payload)
  using MessageKey = std::tuple<std::uint32_t, int, int, int, int>;
  void connect(const strategies::Program& program, const RankClasses& classes, Meeters& meeters);
  Slot sender_of(const Meeters& meeters, const MessageKey& key) const;
  void connect_joint(const strategies::Program& program, Meeters& meeters, std::uint32_t process, std::uint32_t group);
  void number_meetings(const strategies::Program& program, const std::vector<bool>& joint);
  void number_slots(const strategies::Program& program);

  std::vector<std::vector<BlockMeetings>> blocks_;  ///< by role and block
  std::vector<std::vector<Slot>> first_slot_;       ///< by process and action
  std::vector<std::uint32_t> roles_;                ///< by process
  std::vector<std::uint32_t> role_;                 ///< by slot
  std::vector<Slot> awaited_;
  std::vector<Awaited> awaited_of_;  ///< by slot
  std::vector<std::int64_t> duration_;
};

/// Since when the input pipeline has delivered `samples` samples in all; 0 when its rate is unlimited.
std::int64_t input_ready_ns(const Prices& prices, std::int64_t samples);

}  // namespace sim
