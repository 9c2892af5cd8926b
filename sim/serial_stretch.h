// Operations that the host awaits one by one: work, a host operation that waits for it, the next work, and so on.
//
//   end(k) = end(k - 1) + host(k - 1) + issue(k) + duration(k)
//
// Where one of them begins with nothing else in progress, nothing can begin beside the others: what comes later is not
// issued before. So how long they take and what the compute lane spends that on depend on nothing but the program.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/breakdown.h"
#include "strategies/program/program.h"

namespace sim {

struct FlatBlock;

/// `from` and `to` are its first and last operation on the compute lane; without any both are `last`. Every work takes
/// time and so does the host between two: what ended before the last pair binds nothing later.
struct SerialStretch {
  /// An operation in (from, to] that is named beyond the stretch.
  struct Outlived {
    std::uint32_t named = 0;  ///< FlatOperation::named
    std::int64_t end_ns = 0;  ///< since the end of `from`
  };

  std::uint32_t first = 0, last = 0;  ///< operations of its block, in pairs
  std::uint32_t from = 0, to = 0;
  std::int64_t duration_ns = 0;                            ///< from the end of `from` to the end of `to`
  Breakdown spent{};                                       ///< meanwhile, by the compute lane
  std::array<std::uint32_t, strategies::kLanes> passed{};  ///< by lane: operations of the block before `last`
  std::vector<Outlived> outlived;
};

/// Those of a block, whose operations have got their names.
std::vector<SerialStretch> serial_stretches(const FlatBlock& block);

}  // namespace sim
