// How the roles of a Program act on each other: who sends whom what, whose collectives meet. Folded by role: what holds
// for one rank of a role holds for all. Precondition: check_references finds nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "strategies/program/program.h"

namespace strategies {

/// What a role sends or receives in one step, in program order.
struct Message {
  int microbatch = 0, from = 0, to = 0;  ///< virtual stages
  Payload payload = Payload::kActivation;
  std::uint32_t action = 0, operation = 0;
  std::int64_t bytes = 0;
  auto identity() const { return std::tuple(microbatch, from, to, payload); }
};
std::vector<Message> sends(const Program& program, std::uint32_t role);
std::vector<Message> receives(const Program& program, std::uint32_t role);

/// What some operation of a Program names.
struct Communicating {
  std::set<GroupId> groups;                       ///< of collectives
  std::set<std::pair<std::uint32_t, int>> sends;  ///< role, virtual stage that it sends to
};
Communicating communicating(const Program& program);

/// A pair of roles of which some ranks exchange messages.
struct RolePair {
  std::uint32_t sender = 0, receiver = 0;
  auto operator<=>(const RolePair&) const = default;
};
std::vector<RolePair> communicating_roles(const Program& program);

/// For every role the lowest role with which its ranks share groups of this family, directly or through others;
/// itself when it is alone.
std::vector<std::uint32_t> group_partners(const Program& program, GroupId group);

/// Operations of one step, numbered in program order; `flat` = first[role][action] + operation.
struct StepOperations {
  explicit StepOperations(const Program& program);
  std::uint32_t flat(std::uint32_t role, std::uint32_t action, std::uint32_t operation) const {
    return first[role][action] + operation;
  }
  /// Action and operation of a flat number.
  std::pair<std::uint32_t, std::uint32_t> at(std::uint32_t role, std::uint32_t flat) const;
  std::uint32_t count(std::uint32_t role) const { return first[role].back(); }
  std::vector<std::vector<std::uint32_t>> first;  ///< one more than actions: the total
};

/// A send and a receive that gets it.
struct Delivery {
  std::uint32_t sender = 0, send = 0;  ///< role, flat number
  std::uint32_t receiver = 0, receive = 0;
  auto operator<=>(const Delivery&) const = default;
};
/// Sorted.
std::vector<Delivery> deliveries(const Program& program, const StepOperations& operations);

/// The k-th collectives of roles that share a group happen together.
struct Meetings {
  static constexpr std::uint32_t kNone = 0xffffffff;
  Meetings(const Program& program, const StepOperations& operations);
  std::vector<std::vector<std::uint32_t>> of;  ///< [role][flat] meeting, or kNone
  std::vector<std::uint32_t> roles;            ///< [meeting] how many roles meet
};

}  // namespace strategies
