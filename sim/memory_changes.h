// Allocations and frees of a block in program order.
#pragma once

#include <vector>

#include "strategies/program/program.h"

namespace sim {

/// One allocation (`alive`) or free.
struct MemoryChange {
  strategies::BufferId buffer;
  bool alive = false;
  bool by_collective = false;  ///< freed by a tensor collective, which runs beside the compute lane
};

/// What the operations say; buffers of the block instance that nobody freed go at its end. No static buffers.
std::vector<MemoryChange> memory_changes(const strategies::Role& role, const strategies::Block& block);

}  // namespace sim
