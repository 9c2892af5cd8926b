// Which GPU hosts which rank. One result serves simulation, execution and export.
#pragma once

#include <vector>

#include "strategies/program/program.h"

namespace strategies {

/// gpu[rank] = global GPU index. Consecutive ranks fill consecutive GPUs (rank order decides who is near whom).
struct Placement {
  std::vector<int> gpu;
};

Placement place(const Program& program);

/// The distinct groups of one family as GPU indices, ordered by their lowest rank.
std::vector<std::vector<int>> placed_groups(const Program& program, GroupId group, const Placement& placement);

}  // namespace strategies
