#include "sim/memory_changes.h"

namespace sim {

using strategies::BufferId;
using strategies::Lifetime;

std::vector<MemoryChange> memory_changes(const strategies::Role& role, const strategies::Block& block) {
  std::vector<MemoryChange> changes;
  std::vector<BufferId> local;
  const auto add = [&](BufferId buffer, bool alive, bool by_collective = false) {
    if (role.buffers[buffer.value].lifetime != Lifetime::kStatic) changes.push_back({buffer, alive, by_collective});
  };
  for (const strategies::Operation& operation : block.operations) {
    for (const BufferId buffer : operation.allocates) {
      add(buffer, true);
      if (role.buffers[buffer.value].lifetime == Lifetime::kBlock) local.push_back(buffer);
    }
    const bool beside = operation.lane == strategies::Lane::kTensor;
    for (const BufferId buffer : operation.frees) add(buffer, false, beside);
  }
  for (const BufferId buffer : local) add(buffer, false);
  return changes;
}

}  // namespace sim
