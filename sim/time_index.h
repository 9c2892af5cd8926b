// The earliest of many times that change often: a tree of minima over numbered slots. Setting a time costs one short
// scan per level, whether the time moves forward or back; nothing is queued, so nothing can be stale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sim {

class TimeIndex {
 public:
  using Slot = std::uint32_t;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  /// Slots never set read as kNever.
  void set(Slot slot, std::int64_t time_ns);
  std::int64_t at(Slot slot) const { return slot < levels_[0].size() ? levels_[0][slot] : kNever; }
  std::int64_t earliest() const { return earliest_; }
  /// The lowest slot that holds earliest(), which must not be kNever.
  Slot first() const;

 private:
  static constexpr std::size_t kFan = 16;  // two cache lines of times per scan
  void grow(std::size_t slots);

  std::vector<std::vector<std::int64_t>> levels_{1};  ///< levels_[0]: the slots; each next one: minima of kFan below
  std::int64_t earliest_ = kNever;
};

}  // namespace sim
