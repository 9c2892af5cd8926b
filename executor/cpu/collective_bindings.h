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
};

/// nullptr: the backend cannot run it.
const CollectiveBinding* find_collective_binding(const strategies::Operation& operation);

}  // namespace executor::cpu
