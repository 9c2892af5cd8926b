// What one call of a block does to its process, as a function of the state it meets. All times are relative to the
// moment the compute lane is free at entry; what a state has in common with an earlier one decides whether that one's
// outcome can be used again:
//
//   an input (free time of a lane or of the host, end of a needed operation, arrival of a message) that bound some
//   operation must be the same; one that never bound may be anything that would still not bind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/block_tables.h"

namespace sim {

/// Ended before anything that matters; what lies before the first step.
inline constexpr std::int64_t kLongAgo = std::numeric_limits<std::int64_t>::min() / 4;

/// Inputs of a call: shape.lanes, host, shape.dependents, then (arrival, start of the send) of shape.receives.
using Inputs = std::vector<std::int64_t>;

struct BlockOutcome {
  struct Range {
    std::int64_t low = std::numeric_limits<std::int64_t>::min();
    std::int64_t high = std::numeric_limits<std::int64_t>::max();
  };
  /// A moment after the call: its chain of causes back to the compute lane's free time at exit, which ends in the
  /// causes of an input when `tail` >= 0. No chain, but a tail: it is that input.
  struct Output {
    std::int64_t time = 0;
    std::vector<Stretch> chain;
    int tail = -1;
  };
  struct Message {
    std::uint32_t operation = 0;
    std::int64_t begin = 0, end = 0;
  };
  struct Times {
    std::int64_t begin = 0, end = 0;
  };

  std::vector<Range> valid;  ///< by input
  std::vector<Output> lanes;
  Output host;
  bool host_runs_through = false;  ///< no host operation: the host goes on, `host.time` later than at entry
  std::vector<Output> exports;
  std::vector<Message> sends;
  std::int64_t compute_free = 0;
  std::int64_t last_compute_end = kLongAgo, last_end = kLongAgo;
  Breakdown spent{};
  std::vector<Deferred> deferred;  ///< gaps owed to an input
  std::vector<Times> times;        ///< by operation, when records are wanted

  bool valid_for(const Inputs& inputs) const;
};

/// Outcomes of the calls of one shape.
class BlockMemo {
 public:
  /// The outcome for `inputs`; evaluates the block when no known one is valid. Good until the next call.
  const BlockOutcome& outcome(const FlatBlock& block, const CallShape& shape, const Inputs& inputs, bool records);
  std::size_t evaluations() const { return evaluations_; }

 private:
  std::vector<BlockOutcome> known_;
  std::size_t oldest_ = 0;
  std::size_t evaluations_ = 0;
};

}  // namespace sim
