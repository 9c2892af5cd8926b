// How the collectives of a Program lie in memory: what is laid together before one and taken apart after it.
#pragma once

#include <span>
#include <string_view>

#include "executor/cpu/bindings.h"

namespace executor::cpu {

struct CollectiveBinding {
  std::string_view kind, label;  ///< for documentation; `fits` decides
  bool (*fits)(const strategies::Operation& operation);
  /// Lays the operands together; the memory is the communicator's until the collective is complete.
  std::span<std::byte> (*before)(const Call& call);
  void (*after)(const Call& call, std::span<std::byte> data);
  Element element = Element::kFloat32;
  Reduction reduction = Reduction::kSum;
  /// Where what comes goes, if not into the same memory: all-to-all and shifts.
  std::span<std::byte> (*received)(const Call& call) = nullptr;
};

/// Between context ranks.
std::span<const CollectiveBinding> context_collective_bindings();

/// Where this rank stands among the members of the call's group.
struct Member {
  std::size_t own = 0, count = 1;
};
Member member_of(const Call& call);
/// What is exchanged is what the Program says, to the byte; std::logic_error otherwise.
void require_floats(const Call& call, std::size_t floats);
bool is_labelled(const strategies::Operation& operation, CollectiveKind kind, std::string_view label);

/// nullptr: the backend cannot run it.
const CollectiveBinding* find_collective_binding(const strategies::Operation& operation);

}  // namespace executor::cpu
