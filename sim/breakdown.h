// Where the compute lane's time goes. A busy nanosecond belongs to the phase of the operation. An idle nanosecond
// belongs to what the next operation waits for: of its prerequisites the one that ends last binds; while that one was
// in progress, the time is its; before it started, the time belongs to what bound *its* start, and so on backwards.
//
//   message in flight -> exposed_pipeline     message not sent yet, or a collective waiting for another role -> waiting
//   a collective waiting for a rank of its own role -> straggler
//   collective        -> by its lane          host issuing -> host              input pipeline -> data_stall
//
// Apart from that division, contention is what the compute lane loses to sharing: a kernel's time beyond its time
// alone, and idle time that belongs to a transfer later than its end alone.
//
// Waiting for other stages is divided when the step is known: what a rank lacks to the busiest rank's work it would
// idle with any schedule and any number of microbatches -> imbalance, or straggler as far as the busiest one's work
// would be less at full speed; the rest -> bubble.
//
// Among prerequisites that end at the same time the first counts, in this order: predecessor on the lane, `after`,
// CrossDependence, the host, everything issued (for a host operation that drains).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/rank_classes.h"
#include "sim/step_result.h"
#include "strategies/program/program.h"

namespace sim {

using Cause = std::uint32_t;  ///< index in a Ledger: what the time before a moment was spent on
inline constexpr Cause kNoCause = std::numeric_limits<Cause>::max();

/// The end of something, and why it was not earlier. kNoCause: not later than the compute lane's free time.
struct Moment {
  std::int64_t time = 0;
  Cause cause = kNoCause;
};

/// The latest of the moments offered; the first of equals.
class Binding {
 public:
  void offer(Moment moment) {
    if (moment.time > latest_.time) latest_ = moment;
  }
  Moment latest() const { return latest_; }

 private:
  Moment latest_{std::numeric_limits<std::int64_t>::min(), kNoCause};
};

/// One operation: waits for others in [ready, turn), is in progress in [turn, end). On a GPU and ports of its own it
/// would have ended `lost` earlier.
struct Execution {
  std::int64_t ready = 0, turn = 0, end = 0;
  TimeKind waiting = TimeKind::kOther, running = TimeKind::kOther;
  std::int64_t lost = 0;
};

/// What time in progress of `operation` is.
TimeKind running_kind(const strategies::Operation& operation);

/// Books the operations of one process, those of the compute lane in order.
class Ledger {
 public:
  /// Books an operation that became ready because of `binding`; `count` adds compute time and gaps to spent().
  /// Returns the cause of its end.
  Cause book(const Execution& execution, Cause binding, bool on_compute_lane, bool count);

  /// Books the compute lane's time from its last operation until `end`, when another one ends: what it is `spent` on.
  void book_compute(std::int64_t end, const Breakdown& spent, bool count);

  /// A stretch of time that began at `begin`, because of `previous`.
  Cause add(std::int64_t begin, TimeKind kind, Cause previous);

  const Breakdown& spent() const { return spent_; }
  std::int64_t contention() const { return contention_; }

 private:
  struct Link {
    std::int64_t begin = 0;
    Cause previous = kNoCause;
    TimeKind kind = TimeKind::kOther;
    bool contended = false;
  };
  /// Adds [begin, until.time) to what is spent.
  void attribute(std::int64_t begin, Moment until);

  std::vector<Link> links_;
  std::int64_t compute_free_ = 0;
  Breakdown spent_{};
  std::int64_t contention_ = 0;
};

/// What a simulation observed of one process.
struct ClassObservation {
  std::vector<std::int64_t> step_end;  ///< by step: end of its last operation
  Breakdown spent{};                   ///< of the last step: between the compute lane's last ends before it and in it
  std::int64_t contention = 0;         ///< what of `spent` was lost to sharing
};

/// Equations, k = last step:
///   step_ns           = max over classes of step_end(k) - max over classes of step_end(k - 1)
///   a class's window  = from its last end on the compute lane in step k - 1 to that in step k: what `spent` sums to
/// In the steady state both are equal. Before it, the difference goes to `bubble`; a window longer than the step is
/// shortened from its idle times, bubble first. Then, over the classes r:
///   stall(r)     = own stall + what of waiting(r) the longest stall of any class accounts for: its stage waits with it
///   work(r)      = step_ns - waiting(r) - stall(r) - straggler(r)
///   sound(r)     = work(r) - (1 - speed(r)) * (compute(r) + recompute(r) + optimizer(r)): its work at full speed
///   lacking(r)   = min(waiting(r), max work - work(r)),   bubble(r) = waiting(r) - lacking(r)
///   imbalance(r) = what of lacking(r) lies below max sound - work(r); the rest is added to straggler(r)
StepResult step_result(const RankClasses& classes, std::span<const ClassObservation> observed);

}  // namespace sim
