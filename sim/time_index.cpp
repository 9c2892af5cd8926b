#include "sim/time_index.h"

#include <algorithm>

namespace sim {

void TimeIndex::grow(std::size_t slots) {
  // Whole groups of kFan, so that a scan never meets an end; the top level is a single group.
  for (std::size_t level = 0;; ++level) {
    if (level == levels_.size()) levels_.emplace_back();
    const std::size_t groups = (slots + kFan - 1) / kFan;
    const std::size_t had = levels_[level].size();
    levels_[level].resize(std::max(had, groups * kFan), kNever);
    if (level > 0 && had == 0) {
      const std::vector<std::int64_t>& below = levels_[level - 1];
      for (std::size_t group = 0; group * kFan < below.size(); ++group) {
        const auto* first = below.data() + group * kFan;
        levels_[level][group] = *std::min_element(first, first + kFan);
      }
    }
    if (groups <= 1) return;
    slots = groups;
  }
}

void TimeIndex::set(Slot slot, std::int64_t time_ns) {
  if (slot >= levels_[0].size()) grow(std::max<std::size_t>(slot + std::size_t{1}, 2 * levels_[0].size()));
  std::size_t index = slot;
  for (std::vector<std::int64_t>& level : levels_) {
    const std::int64_t before = level[index];
    level[index] = time_ns;
    if (before == time_ns) return;
    const std::size_t group = index / kFan;
    const std::int64_t* times = level.data() + group * kFan;
    for (std::size_t i = 0; i < kFan; ++i) time_ns = std::min(time_ns, times[i]);
    index = group;
  }
  earliest_ = time_ns;
}

TimeIndex::Slot TimeIndex::first() const {
  std::size_t index = 0;
  for (std::size_t level = levels_.size(); level-- > 0;) {
    index *= kFan;
    while (levels_[level][index] != earliest_) ++index;
  }
  return static_cast<Slot>(index);
}

}  // namespace sim
