#include "strategies/placement/placement.h"

#include <cstddef>
#include <numeric>
#include <utility>

namespace strategies {

Placement place(const Program& program) {
  Placement placement;
  placement.gpu.resize(program.role_of_rank.size());
  std::iota(placement.gpu.begin(), placement.gpu.end(), 0);
  return placement;
}

std::vector<std::vector<int>> placed_groups(const Program& program, GroupId group, const Placement& placement) {
  const Group& family = program.groups[group.value];
  const Mesh& mesh = program.views[static_cast<std::size_t>(family.view)];
  std::vector<std::vector<int>> groups;
  std::vector<bool> seen(program.role_of_rank.size());
  // Ranks ascend, so the first one not seen yet is the lowest of its group. O(ranks) in total.
  for (std::size_t rank = 0; rank < seen.size(); ++rank) {
    if (seen[rank]) continue;
    std::vector<int> gpus;
    for (const Rank member : family.members(mesh, Rank{static_cast<std::int32_t>(rank)})) {
      const auto index = static_cast<std::size_t>(member.value);
      seen[index] = true;
      gpus.push_back(placement.gpu[index]);
    }
    if (!gpus.empty()) groups.push_back(std::move(gpus));
  }
  return groups;
}

}  // namespace strategies
