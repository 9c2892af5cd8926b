// Transfers as fluids in virtual time. An activity (a flow, a whole collective) has bytes of work and drains at a rate
// that is shared max-min fairly with all others (max_min_fairness.h). Between changes rates are constant:
//
//   begin_f = start_f + latency_f
//   end_f   = first whole nanosecond t with  integral from begin_f to t of rate_f  >=  work_f
//
// Rates change when an activity begins or ends or a capacity is set. All changes of one time are one solve, at the end
// of that time (Engine::at_end). Work left is brought up to date only when the rate changes, and only for those whose
// rate does. One event waits in the engine for the earliest end; one that comes too early finds nothing due. So when
// ends move back, the engine may run on to a time at which nothing happens.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "hw_models/units.h"
#include "sim/engine.h"
#include "sim/max_min_fairness.h"
#include "sim/time_index.h"

namespace sim {

struct FluidActivity {
  hw_models::Bytes work{};          ///< >= 0; without work it ends when it begins
  std::span<const LinkUse> uses{};  ///< copied; what a byte of work puts on which links
  std::uint64_t tag = 0;            ///< the caller's, handed back at the end
  std::int64_t latency_ns = 0;      ///< >= 0; it loads no link before
  double weight = 1;
  hw_models::BytesPerSecond cap{MaxMinFairness::kNoCap};
};

class FluidNetwork {
 public:
  static constexpr EventId kEvents = 2;  ///< ids it takes, from first_event on

  /// One capacity per LinkIndex. `engine` must outlive it.
  FluidNetwork(Engine& engine, std::span<const hw_models::BytesPerSecond> capacities, EventId first_event);

  /// Now. Throws std::invalid_argument as MaxMinFairness::add does.
  void start(const FluidActivity& activity);
  /// From now on: a link degraded or restored.
  void set_capacity(LinkIndex link, hw_models::BytesPerSecond capacity);

  bool owns(EventId id) const { return id - first_event_ < kEvents; }
  /// For every event that owns(). Calls ended(tag) for each activity that ends now, in the order of their starts;
  /// `ended` may start others.
  template <class Ended>
  void handle(EventId id, Ended&& ended) {
    if (id != first_event_) return settle();
    collect_due();
    for (const auto& [sequence, tag] : ended_) ended(tag);
    post();
  }

  std::size_t active() const { return active_; }  ///< started and not ended
  /// Nanoseconds from start to end on an otherwise idle network; TimeIndex::kNever when a link has no capacity.
  std::int64_t alone_ns(const FluidActivity& activity) const;
  struct Stalled {
    std::uint64_t tag = 0;
    LinkIndex link = 0;  ///< one without capacity
  };
  /// Activities that have begun and stand still, in the order of their starts. When the engine has run out of events,
  /// these are all that remain: the caller must report them.
  std::vector<Stalled> stalled() const;
  /// Rates and loads as of the last solve.
  const MaxMinFairness& fairness() const { return fairness_; }
  std::uint64_t solves() const { return solves_; }

 private:
  struct Running {
    double left = 0;  ///< bytes of work at `since`
    double rate = 0;  ///< bytes per nanosecond
    std::int64_t since = 0;
    std::uint64_t tag = 0;
    std::uint64_t sequence = 0;  ///< of its start
    bool present = false;
  };
  struct Waiting {
    FluidActivity activity;  ///< `uses` below
    std::vector<LinkUse> uses;
    std::uint64_t sequence = 0;
  };

  void wait(const FluidActivity& activity, std::uint64_t sequence);
  void begin(const FluidActivity& activity, std::uint64_t sequence);
  void collect_due();
  void settle();
  void request_settle();
  void post();

  Engine& engine_;
  MaxMinFairness fairness_;
  const EventId first_event_;
  std::vector<Running> running_;  ///< by slot of fairness_
  TimeIndex ends_;
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> free_waiting_;
  TimeIndex begins_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ended_;  ///< (sequence, tag)
  std::int64_t posted_ = TimeIndex::kNever;
  std::int64_t settle_at_ = -1;
  std::size_t active_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t solves_ = 0;
};

}  // namespace sim
