// Which ranks are simulated by one process: ranks that do the same at the same times.
//
//   by role      no rank differs from the others of its role, or the slowest stands for all
//   single       every rank for itself
//   folded       as few classes as are exact. Ranks start with the colour of their own (role, prices, speed); a colour
//                is split when its ranks differ in the colours of those they communicate with (the members of each of
//                their groups, counted; their peer on each stage), until nothing is split: colour refinement. In the
//                end all ranks of a class meet the same partners, and so the same times.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/program/program.h"

namespace sim {

/// A GPU whose kernels take 1 / speed as long as the others'.
struct SlowGpu {
  strategies::Rank rank;
  double speed = 1;
};

struct RankClass {
  std::uint32_t role = 0;
  strategies::Rank representative{-1};  ///< the lowest; -1 without ranks
  std::int64_t ranks = 0;
  double speed = 1;  ///< of kernels
};

/// In order of roles, then of representatives.
struct RankClasses {
  std::vector<RankClass> all;
  std::vector<std::uint32_t> of_rank;

  std::size_t size() const { return all.size(); }
  const RankClass& of(strategies::Rank rank) const { return all[of_rank[static_cast<std::size_t>(rank.value)]]; }
};

RankClasses classes_by_role(const strategies::Program& program);

/// Throws std::invalid_argument when a slow rank is none of the program's.
RankClasses single_ranks(const strategies::Program& program, const std::vector<SlowGpu>& slow = {});

/// `singles`: from single_ranks. `own`: by rank; ranks whose prices differ have different numbers.
RankClasses folded(const strategies::Program& program, const RankClasses& singles,
                   const std::vector<std::uint32_t>& own);

}  // namespace sim
