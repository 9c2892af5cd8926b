#include "sim/lane_activities.h"

#include <algorithm>

namespace sim {

void LaneActivities::start(strategies::Lane lane, LoadId load, Bound bound, std::int64_t work_ns, std::int64_t now) {
  resume(lane, work_ns > 0 ? load : kNoLoad, Progress::of(work_ns, now, kernel_rate(bound)));
  lanes_[static_cast<std::size_t>(lane)].bound = bound;
}

void LaneActivities::resume(strategies::Lane lane, LoadId load, const Progress& progress) {
  lanes_[static_cast<std::size_t>(lane)] = {progress, load, Bound::kNothing, true};
  if (load == kNoLoad) return;
  in_flight_.insert(std::ranges::upper_bound(in_flight_, load), load);
  changed_ = true;
}

void LaneActivities::stop(strategies::Lane lane) {
  Activity& activity = lanes_[static_cast<std::size_t>(lane)];
  activity.active = false;
  if (activity.load == kNoLoad) return;
  in_flight_.erase(std::ranges::lower_bound(in_flight_, activity.load));
  changed_ = true;
}

bool LaneActivities::settle(std::int64_t now) {
  if (!changed_) return false;
  changed_ = false;
  rates_ = &sharing_->among(in_flight_);
  for (Activity& activity : lanes_) {
    if (!activity.active) continue;
    std::int32_t rate = kernel_rate(activity.bound);
    if (activity.load != kNoLoad) {
      const auto found = std::ranges::lower_bound(in_flight_, activity.load);  // equal loads have equal rates
      rate = rates_->transfers[static_cast<std::size_t>(found - in_flight_.begin())];
    }
    activity.progress.change_rate(rate, now);
  }
  return true;
}

}  // namespace sim
