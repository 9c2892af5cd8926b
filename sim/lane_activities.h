// What is in progress on the lanes of one process, at rates that change with what else is.
//
//   work in 1/4096 ns, done at `rate` of it per nanosecond;  end = first whole nanosecond at which nothing is left
//
// Transfers (those with a load) share ports (port_sharing.h); kernels run at what the transfers leave. Kernels do not
// slow transfers: a communication kernel holds its multiprocessors once it runs. Work left is brought up to date only
// when the rate changes, in whole numbers: alone, an operation takes its price to the nanosecond.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/port_sharing.h"
#include "strategies/program/program.h"

namespace sim {

struct Progress {
  std::int64_t left = 0;   ///< 1/4096 ns, at `since`
  std::int64_t since = 0;  ///< may lie ahead: it has not begun
  std::int32_t rate = kFullRate;

  static Progress of(std::int64_t work_ns, std::int64_t begin, std::int32_t rate) {
    return {work_ns * kFullRate, begin, rate};
  }
  std::int64_t end() const { return left <= 0 ? since : since + (left - 1) / rate + 1; }
  void change_rate(std::int32_t next, std::int64_t now) {
    if (now > since) {
      left -= rate * (now - since);
      since = now;
    }
    rate = next;
  }
};

class LaneActivities {
 public:
  explicit LaneActivities(PortSharing& sharing) : sharing_(&sharing) {}

  /// A lane holds one activity at most. The rates of the others follow at the next settle().
  void start(strategies::Lane lane, LoadId load, Bound bound, std::int64_t work_ns, std::int64_t now);
  /// Likewise, with a transfer that others have not disturbed so far.
  void resume(strategies::Lane lane, LoadId load, const Progress& progress);
  void stop(strategies::Lane lane);
  /// After all changes at `now`; may be called more than once at a time. True if the rates may be others.
  bool settle(std::int64_t now);

  bool changed() const { return changed_; }          ///< not settled yet
  bool quiet() const { return in_flight_.empty(); }  ///< no transfers
  bool active(strategies::Lane lane) const { return at(lane).active; }
  std::int64_t end(strategies::Lane lane) const { return at(lane).progress.end(); }
  std::int32_t kernel_rate(Bound bound) const { return rates_->kernels[static_cast<std::size_t>(bound)]; }

 private:
  struct Activity {
    Progress progress;
    LoadId load = kNoLoad;
    Bound bound = Bound::kNothing;
    bool active = false;
  };
  const Activity& at(strategies::Lane lane) const { return lanes_[static_cast<std::size_t>(lane)]; }

  PortSharing* sharing_;
  std::array<Activity, strategies::kLanes> lanes_;
  std::vector<LoadId> in_flight_;  ///< ascending
  const PortSharing::Rates* rates_ = &sharing_->among({});
  bool changed_ = false;
};

}  // namespace sim
