#include "sim/max_min_fairness.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace sim {
namespace {

constexpr double kLoadUnit = 0x1p-10;   // bytes/s
constexpr double kShareUnit = 0x1p-40;  // of factor * weight
constexpr double kMaxShare = 0x1p20;
constexpr double kMaxCapacity = 0x1p52;  // bytes/s: the sum of loads fits 63 bits
constexpr std::int64_t kMaxShareSum = std::int64_t{1} << 62;
constexpr double kSameLevel = 0x1p-40;

bool reaches(double level, double other) { return level >= other * (1 - kSameLevel); }

std::int64_t units_of_capacity(hw_models::BytesPerSecond capacity) {
  if (!(capacity.value() >= 0 && capacity.value() < kMaxCapacity)) {
    throw std::invalid_argument("MaxMinFairness: capacity must be in [0, 2^52) bytes/s");
  }
  return static_cast<std::int64_t>(capacity.value() / kLoadUnit);
}

std::int64_t units_of_share(double factor, double weight) { return std::llround(factor * weight / kShareUnit); }

std::int64_t load_at(std::int64_t share, double level) {
  return static_cast<std::int64_t>(static_cast<double>(share) * level);
}

}  // namespace

MaxMinFairness::MaxMinFairness(std::span<const hw_models::BytesPerSecond> capacities) : links_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = units_of_capacity(capacities[i]);
}

double MaxMinFairness::load(LinkIndex link) const { return static_cast<double>(links_[link].load) * kLoadUnit; }

double MaxMinFairness::capacity(LinkIndex link) const { return static_cast<double>(links_[link].capacity) * kLoadUnit; }

std::uint32_t MaxMinFairness::allocate_uses(std::size_t count) {
  const auto size_class = static_cast<std::size_t>(std::bit_width(count - 1));
  if (size_class < free_uses_.size() && !free_uses_[size_class].empty()) {
    const std::uint32_t first = free_uses_[size_class].back();
    free_uses_[size_class].pop_back();
    return first;
  }
  const std::size_t first = uses_.size();
  uses_.resize(first + (std::size_t{1} << size_class));
  return static_cast<std::uint32_t>(first);
}

void MaxMinFairness::check(std::span<const LinkUse> uses, double weight, hw_models::BytesPerSecond cap) const {
  if (!(weight > 0 && weight <= kMaxShare)) throw std::invalid_argument("MaxMinFairness: weight must be in (0, 2^20]");
  if (!(cap.value() > 0)) throw std::invalid_argument("MaxMinFairness: a cap must be positive");
  for (const LinkUse& use : uses) {
    if (use.link >= links_.size()) throw std::invalid_argument("MaxMinFairness: no such link");
    if (!(use.factor >= 0 && use.factor * weight <= kMaxShare)) {
      throw std::invalid_argument("MaxMinFairness: factor * weight must be in [0, 2^20]");
    }
  }
}

MaxMinFairness::Slot MaxMinFairness::add(std::span<const LinkUse> uses, double weight, hw_models::BytesPerSecond cap) {
  check(uses, weight, cap);
  std::uint32_t count = 0;
  for (const LinkUse& use : uses) {
    const std::int64_t share = units_of_share(use.factor, weight);
    if (links_[use.link].share > kMaxShareSum - share) {
      throw std::invalid_argument("MaxMinFairness: the weights on one link exceed 2^22");
    }
    if (share > 0) ++count;
  }
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<Slot>(activities_.size()));
    activities_.emplace_back();
  }
  const Slot slot = free_slots_.back();
  free_slots_.pop_back();
  Activity& activity = activities_[slot];
  activity = {};
  activity.present = true;
  activity.rate_per_level = weight / kShareUnit * kLoadUnit;
  activity.cap_level = cap.value() / activity.rate_per_level;
  activity.uses = count;
  if (count > 0) activity.first_use = allocate_uses(count);
  std::uint32_t at = activity.first_use;
  for (const LinkUse& use : uses) {
    const std::int64_t share = units_of_share(use.factor, weight);
    if (share == 0) continue;
    uses_[at] = {share, 0, slot, use.link, kNone, kNone};
    link_in(at++);
  }
  added_.push_back(slot);
  return slot;
}

void MaxMinFairness::link_in(std::uint32_t use) {
  Link& link = links_[uses_[use].link];
  uses_[use].next = link.first_use;
  if (link.first_use != kNone) uses_[link.first_use].previous = use;
  link.first_use = use;
  ++link.uses;
  link.share += uses_[use].share;
}

void MaxMinFairness::link_out(const Use& use) {
  Link& link = links_[use.link];
  if (use.next != kNone) uses_[use.next].previous = use.previous;
  (use.previous != kNone ? uses_[use.previous].next : link.first_use) = use.next;
  --link.uses;
  link.share -= use.share;
  link.load -= use.load;
}

void MaxMinFairness::remove(Slot slot) {
  Activity& activity = activities_[slot];
  disown(activity);
  for (const Use& use : uses_of(activity)) {
    link_out(use);
    if (links_[use.link].uses > 0) touch(use.link);
  }
  if (activity.uses > 0) {
    const auto size_class = static_cast<std::size_t>(std::bit_width(activity.uses - 1U));
    if (free_uses_.size() <= size_class) free_uses_.resize(size_class + 1);
    free_uses_[size_class].push_back(activity.first_use);
  }
  activity.present = false;
  free_slots_.push_back(slot);
}

void MaxMinFairness::set_capacity(LinkIndex link, hw_models::BytesPerSecond capacity) {
  const std::int64_t units = units_of_capacity(capacity);
  if (link >= links_.size()) throw std::invalid_argument("MaxMinFairness: no such link");
  links_[link].capacity = units;
  touch(link);
}

LinkIndex MaxMinFairness::bottleneck(Slot slot) const {
  const std::uint32_t use = activities_[slot].stopped_at;
  return use == kNone ? static_cast<LinkIndex>(links_.size()) : uses_[use].link;
}

std::span<const MaxMinFairness::Slot> MaxMinFairness::solve() {
  changed_.clear();
  ++solves_;
  water_ = 0;
  for (const Slot slot : added_) {
    const Activity& activity = activities_[slot];
    if (activity.present && activity.state == State::kSettled && !settle_alone(slot)) set_free(slot);
  }
  added_.clear();
  queue_touched();
  while (!due_.empty()) {
    const auto [level, index] = due_.top();
    due_.pop();
    if (index >= links_.size()) {
      const Slot slot = index - static_cast<std::uint32_t>(links_.size());
      if (activities_[slot].state != State::kFree) continue;
      water_ = std::max(water_, level);
      settle(slot, activities_[slot].cap_level);
    } else if (links_[index].due == level) {
      water_ = std::max(water_, level);
      links_[index].due = kUnbounded;
      look_at(index);
      queue_touched();
    }
  }
  for (const Slot slot : settled_now_) activities_[slot].state = State::kSettled;
  settled_now_.clear();
  return changed_;
}

void MaxMinFairness::touch(LinkIndex link) {
  if (links_[link].touched) return;
  links_[link].touched = true;
  touched_.push_back(link);
}

/// True when no other activity uses its links: then nothing is left to solve.
bool MaxMinFairness::settle_alone(Slot slot) {
  Activity& activity = activities_[slot];
  double level = activity.cap_level;
  for (const Use& use : uses_of(activity)) {
    const Link& link = links_[use.link];
    if (link.uses > 1) return false;
    level = std::min(level, static_cast<double>(link.capacity) / static_cast<double>(use.share));
  }
  activity.level = level;
  for (std::uint32_t i = activity.first_use; i < activity.first_use + activity.uses; ++i) {
    Use& use = uses_[i];
    Link& link = links_[use.link];
    link.load = use.load = load_at(use.share, level);
    const bool full = level == static_cast<double>(link.capacity) / static_cast<double>(use.share);
    if (full && activity.stopped_at == kNone) own(link, i);
  }
  changed_.push_back(slot);
  return true;
}

/// The link has stopped the activity.
void MaxMinFairness::own(Link& link, std::uint32_t use) {
  Activity& activity = activities_[uses_[use].activity];
  activity.stopped_at = use;
  link.level = activity.level;
  link.own_share += uses_[use].share;
  link.own_load += uses_[use].load;
}

void MaxMinFairness::disown(Activity& activity) {
  if (activity.stopped_at == kNone) return;
  const Use& use = uses_[activity.stopped_at];
  links_[use.link].own_share -= use.share;
  links_[use.link].own_load -= use.load;
  activity.stopped_at = kNone;
}

/// From here on its rate rises with the water until a link or its cap stops it.
void MaxMinFairness::set_free(Slot slot) {
  Activity& activity = activities_[slot];
  activity.state = State::kFree;
  disown(activity);
  for (const Use& use : uses_of(activity)) {
    Link& link = links_[use.link];
    link.load -= use.load;
    link.free_share += use.share;
    touch(use.link);
  }
  if (activity.cap_level < kUnbounded) {
    due_.emplace(std::max(activity.cap_level, water_), static_cast<std::uint32_t>(links_.size()) + slot);
  }
}

void MaxMinFairness::settle(Slot slot, double level) {
  Activity& activity = activities_[slot];
  activity.state = State::kSettledNow;
  settled_now_.push_back(slot);
  const bool fresh = activity.level != level;
  activity.level = level;
  for (Use& use : uses_of(activity)) {
    use.load = load_at(use.share, level);
    links_[use.link].load += use.load;
    links_[use.link].free_share -= use.share;
  }
  if (fresh) changed_.push_back(slot);
}

void MaxMinFairness::saturate(Link& link, double level) {
  link.level = level;
  link.solved = solves_;
  for (std::uint32_t use = link.first_use; link.free_share > 0; use = uses_[use].next) {
    if (activities_[uses_[use].activity].state != State::kFree) continue;
    settle(uses_[use].activity, level);
    own(link, use);
  }
}

/// The level at which a link must be looked at: where its free activities, and its own if they must fall, would fill
/// it while all others keep their loads; no later than its level, beyond which its own may rise.
double MaxMinFairness::bound(const Link& link) const {
  // An activity that another link sets free at the very level at which this one stopped it has nowhere to rise to.
  if (link.solved == solves_) {
    if (link.free_share > 0) return water_;
    return kUnbounded;
  }
  const std::int64_t share = link.free_share + link.own_share;
  if (share == 0) return link.load > link.capacity ? 0.0 : kUnbounded;
  const std::int64_t left = link.capacity - link.load + link.own_load;
  const double full_at = static_cast<double>(left) / static_cast<double>(share);
  return link.own_share > 0 ? std::min(full_at, link.level) : full_at;
}

void MaxMinFairness::queue_touched() {
  for (const LinkIndex index : touched_) {
    links_[index].touched = false;
    queue(index, bound(links_[index]));
  }
  touched_.clear();
}

void MaxMinFairness::queue(LinkIndex link, double level) {
  level = std::max(level, water_);
  if (level >= links_[link].due) return;
  links_[link].due = level;
  due_.emplace(level, link);
}

/// Where the link saturates, at or above the water, if what is settled above that level falls to it and all else keeps
/// its level; kUnbounded if it does not.
double MaxMinFairness::saturation(const Link& link) const {
  for (double level = water_;;) {
    std::int64_t left = link.capacity - link.load;
    std::int64_t share = link.free_share;
    // Above the level at which it has let its own rise, a link has nothing settled.
    for (std::uint32_t i = link.released == solves_ ? kNone : link.first_use; i != kNone; i = uses_[i].next) {
      const Use& use = uses_[i];
      const Activity& activity = activities_[use.activity];
      if (activity.state != State::kSettled || activity.level <= level) continue;
      left += use.load;
      share += use.share;
    }
    if (share == 0) return kUnbounded;
    const double next = static_cast<double>(left) / static_cast<double>(share);
    if (reaches(level, next)) return level;
    level = next;
  }
}

void MaxMinFairness::look_at(LinkIndex index) {
  Link& link = links_[index];
  if (link.solved == solves_) return saturate(link, link.level);
  const double due = bound(link);
  if (!reaches(water_, due)) return queue(index, due);
  if (link.own_share > 0 && reaches(water_, link.level)) {
    // The water has come to where the link stops its own. Either it still does, or they rise on.
    const auto left = static_cast<double>(link.capacity - link.load + link.own_load);
    if (!reaches(link.level, left / static_cast<double>(link.free_share + link.own_share))) return release(index);
    return saturate(link, link.level);
  }
  const double full_at = saturation(link);
  if (!reaches(water_, full_at)) return queue(index, link.own_share > 0 ? std::min(full_at, link.level) : full_at);
  free_above(link);
  saturate(link, water_);
}

void MaxMinFairness::free_above(const Link& link) {
  if (link.released == solves_) return;
  for (std::uint32_t i = link.first_use; i != kNone; i = uses_[i].next) {
    const Activity& activity = activities_[uses_[i].activity];
    if (activity.state == State::kSettled && !reaches(water_, activity.level)) set_free(uses_[i].activity);
  }
}

void MaxMinFairness::release(LinkIndex index) {
  Link& link = links_[index];
  link.released = solves_;
  for (std::uint32_t i = link.first_use; link.own_share > 0; i = uses_[i].next) {
    if (activities_[uses_[i].activity].stopped_at == i) set_free(uses_[i].activity);
  }
}

}  // namespace sim
