// A class of ranks as simulate_lanes reads it: its blocks flattened, every action with the operations of others it
// needs.
//
// A run is operations that follow each other in program order, kernels of the compute lane and collectives of the
// tensor lane, each of which waits for the one before and the host only and is waited for by the next only. As long as
// no other transfer is in flight their times follow from each other: one event moves the lanes across all of them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/breakdown.h"
#include "sim/prices.h"
#include "sim/rendezvous.h"
#include "sim/serial_stretch.h"
#include "strategies/program/program.h"

namespace sim {

struct FlatOperation {
  std::int64_t duration_ns = 0;
  std::int64_t issued_ns = 0;  ///< host time from the start of its section until it has been issued
  std::int64_t samples = 0;    ///< of an input operation
  LoadId load = kNoLoad;
  std::uint32_t section = 0;                       ///< host operations before it in its block
  std::uint32_t first_after = 0, after_count = 0;  ///< into FlatBlock::after
  std::int32_t named = -1;  ///< place among the block's operations that other lanes or calls name
  strategies::Lane lane = strategies::Lane::kCompute;
  Meeting meeting = Meeting::kNone;
  TimeKind waiting = TimeKind::kOther, running = TimeKind::kOther;
  Bound bound = Bound::kNothing;
  bool kernel = false;    ///< pure computation on the compute lane
  bool exchange = false;  ///< a collective on the tensor lane that meets no other process
  bool host = false;
  bool drains = false;  ///< a host operation that waits for everything issued, unless a CrossDependence names it
  bool input = false;   ///< waits for the input pipeline
  bool on_compute() const { return lane == strategies::Lane::kCompute; }
};

struct FlatBlock {
  static constexpr std::uint32_t kAnotherCall = ~0U;
  std::vector<FlatOperation> operations;
  std::vector<std::uint32_t> after;       ///< operations of other lanes
  std::vector<std::uint32_t> last_namer;  ///< by operation: the last of another lane that names it, or kAnotherCall
  std::array<std::vector<std::uint32_t>, strategies::kLanes> on_lane;
  std::vector<std::uint32_t> hosts;      ///< the host operations; they end the sections
  std::vector<std::int64_t> section_ns;  ///< host time of every section, one more than host operations
  std::uint32_t named = 0;
  std::vector<SerialStretch> stretches;  ///< in order
  /// The one that the operation, no host operation, is part of, or nullptr.
  const SerialStretch* stretch_at(std::uint32_t operation) const;
};

/// A CrossDependence, resolved.
struct Needed {
  std::uint32_t dependent = 0;
  std::int32_t steps_back = 0;
  std::uint32_t end = 0;  ///< of the operation, among all named ones of a step
};

/// Actions of one shape call the same block with dependences of the same operations.
struct CallShape {
  std::vector<std::uint32_t> dependents;  ///< ascending
  std::vector<std::uint32_t> run;         ///< by operation: length of the run that starts there
  bool names(std::uint32_t operation) const;
};

struct FlatCall {
  std::uint32_t block = 0;
  std::uint32_t shape = 0;
  std::uint32_t first_end = 0;      ///< among all named operations of a step
  std::uint32_t first_section = 0;  ///< among all sections of a step
  std::uint32_t first_record = 0;   ///< operations of a step before this call
  std::vector<Needed> needed;       ///< by dependent
};

struct FlatProcess {
  FlatProcess(const strategies::Program& program, std::uint32_t process, const Prices& prices,
              const Rendezvous& rendezvous);

  std::vector<FlatBlock> blocks;
  std::vector<CallShape> shapes;
  std::vector<FlatCall> calls;                                          ///< by action
  std::array<std::vector<std::uint32_t>, strategies::kLanes> calls_of;  ///< actions that use the lane
  std::uint32_t ends = 0, sections = 0;                                 ///< of a step

 private:
  void name_operations(const strategies::Role& role);
  void add_calls(const strategies::Role& role);
};

}  // namespace sim
