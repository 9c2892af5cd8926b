// A class of ranks as simulate_blocks reads it: its blocks flattened, every action with the operations of others it
// needs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/breakdown.h"
#include "sim/prices.h"
#include "sim/rendezvous.h"
#include "strategies/program/program.h"

namespace sim {

struct FlatOperation {
  std::int64_t issue_ns = 0, duration_ns = 0;
  std::int64_t samples = 0;                        ///< of an input operation
  std::uint32_t first_after = 0, after_count = 0;  ///< into FlatBlock::after
  std::int32_t exported = -1;                      ///< place among the block's exports: others name it
  strategies::Lane lane = strategies::Lane::kCompute;
  Meeting meeting = Meeting::kNone;
  TimeKind waiting = TimeKind::kOther, running = TimeKind::kOther;
  bool host = false;
  bool drains = false;  ///< a host operation that waits for everything issued, unless a CrossDependence names it
  bool input = false;   ///< waits for the input pipeline
  bool on_compute() const { return lane == strategies::Lane::kCompute; }
};

struct FlatBlock {
  std::vector<FlatOperation> operations;
  std::vector<std::uint32_t> after;
  std::uint32_t exports = 0;
};

/// A CrossDependence, resolved.
struct Needed {
  std::uint32_t dependent = 0;
  std::int32_t steps_back = 0;
  std::uint32_t place = 0;  ///< of the operation among all exports of a step
};

/// Actions of one shape call the same block with dependences of the same operations.
struct CallShape {
  std::uint32_t block = 0;
  std::vector<std::uint32_t> dependents;  ///< ascending
  std::vector<strategies::Lane> lanes;    ///< whose entry matters, the compute lane excepted
  std::vector<std::uint32_t> receives;
  bool repeatable = false;  ///< its outcome follows from the lanes' entry and the messages alone
  bool names(std::uint32_t operation) const;
};

struct FlatCall {
  std::uint32_t block = 0;
  std::uint32_t shape = 0;
  std::uint32_t first_export = 0;  ///< among all exports of a step
  std::uint32_t first_record = 0;  ///< operations of a step before this call
  std::vector<Needed> needed;      ///< by dependent
};

struct FlatProcess {
  FlatProcess(const strategies::Program& program, std::uint32_t process, const Prices& prices,
              const Rendezvous& rendezvous);

  std::vector<FlatBlock> blocks;
  std::vector<CallShape> shapes;
  std::vector<FlatCall> calls;  ///< by action
  std::uint32_t exports = 0;    ///< of a step
  std::uint32_t operations = 0;
};

/// Where a process stands while a block is evaluated in program order.
struct Frame {
  std::array<Moment, strategies::kLanes> lanes;
  Moment host;
  std::vector<Moment> ends;  ///< by operation of the current block
};

/// Offers what `operation` waits for, in the order in which the first of equals binds. `host` is the time it has been
/// issued (of a host operation: the time the host is free).
template <class Offer>
void for_each_prerequisite(const Frame& frame, const FlatBlock& block, const CallShape& shape, std::uint32_t operation,
                           const std::vector<Moment>& needed, Offer&& offer) {
  const FlatOperation& what = block.operations[operation];
  offer(frame.lanes[static_cast<std::size_t>(what.lane)]);
  for (std::uint32_t i = 0; i < what.after_count; ++i) offer(frame.ends[block.after[what.first_after + i]]);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (shape.dependents[i] == operation) offer(needed[i]);
  }
  offer(frame.host);
  if (what.drains && !shape.names(operation)) {
    for (const Moment& lane : frame.lanes) offer(lane);
  }
}

}  // namespace sim
