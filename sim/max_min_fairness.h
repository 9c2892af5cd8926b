// Weighted max-min fair rates of activities on shared links, kept up to date while activities come and go.
//
//   rate_f = weight_f * level_f                                  bytes of work per second
//   load_l = sum over f on l of factor_lf * rate_f  <=  capacity_l   factor_lf = bytes on link l per byte of work of f
//   level_f = min(cap_f / weight_f, min over l of f's links of level_l)
//
// A saturated link has a level: the highest among its activities. Progressive filling finds them: raise one level for
// all; link l stops its activities at
//   level_l = (capacity_l - load of the activities already stopped) / (sum of factor_lf * weight_f of the others).
// Every activity ends with a bottleneck (a full link on which no activity has a higher level) or at its cap; no rate
// can grow without taking from an activity whose level is no higher. This is max-min fairness (Bertsekas and Gallager,
// Data Networks, section 6.5.2), unique for given capacities.
//
// A solve fills again only where a change reaches. The level rises through the old solution; an activity is set free
// when a link of it loses or gains room below or at its old level, and what the level has not reached stays as it was.
// An activity alone on all its links takes min(cap, capacity / factor) at once.
//
// Sums are sums of integers (loads in 2^-10 bytes/s, shares factor * weight in 2^-40), so they have no order and do
// not drift. Two levels closer than 2^-40 of their value count as one, so a load may exceed its link's capacity by that
// part. It is shared by those that settle last: rates are right to 2^-40 times the ratio of the shares on one link.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "hw_models/units.h"

namespace sim {

using LinkIndex = std::uint32_t;  ///< one direction of a link: 0 .. links - 1

/// What one byte of an activity's work puts on a link. `factor` may be any ratio >= 0: 2(n-1)/n of a ring all-reduce,
/// 1 of a plain flow, the multiplicity of folded twins.
struct LinkUse {
  LinkIndex link = 0;
  double factor = 1;
};

class MaxMinFairness {
 public:
  using Slot = std::uint32_t;  ///< of an activity; free slots are used again, the last freed first
  static constexpr double kNoCap = std::numeric_limits<double>::infinity();

  /// Capacities in [0, 2^52) bytes/s; zero stalls what uses the link. Throws std::invalid_argument.
  explicit MaxMinFairness(std::span<const hw_models::BytesPerSecond> capacities);

  /// Throws std::invalid_argument unless links exist, 0 < weight <= 2^20, 0 <= weight * factor <= 2^20, cap > 0.
  void check(std::span<const LinkUse> uses, double weight, hw_models::BytesPerSecond cap) const;
  /// Adds an activity; it has no rate before the next solve(). Without uses it runs at its cap. Throws
  /// std::invalid_argument as check() does and when weight * factor exceeds 2^22 in sum on a link; then nothing
  /// changes.
  Slot add(std::span<const LinkUse> uses, double weight, hw_models::BytesPerSecond cap);
  void remove(Slot slot);
  void set_capacity(LinkIndex link, hw_models::BytesPerSecond capacity);

  /// Brings all rates up to date. Returns the activities whose rate is new, in an order that depends on nothing but
  /// the calls so far; valid until the next call.
  std::span<const Slot> solve();

  double rate(Slot slot) const { return activities_[slot].level * activities_[slot].rate_per_level; }  ///< bytes/s
  double load(LinkIndex link) const;                                                                   ///< bytes/s
  double capacity(LinkIndex link) const;                                                               ///< bytes/s
  std::size_t links() const { return links_.size(); }
  /// A link of the activity that is full at its level; links() when it is at its cap.
  LinkIndex bottleneck(Slot slot) const;

 private:
  static constexpr std::uint32_t kNone = ~0U;
  static constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  enum class State : std::uint8_t { kSettled, kFree, kSettledNow };  ///< from earlier; rising; in this solve

  struct Use {
    std::int64_t share = 0;  ///< factor * weight
    std::int64_t load = 0;
    Slot activity = kNone;
    LinkIndex link = 0;
    std::uint32_t next = kNone, previous = kNone;  ///< among the uses of the link
  };
  struct Activity {
    double level = 0;           ///< units of load per unit of share
    double rate_per_level = 0;  ///< bytes/s
    double cap_level = kUnbounded;
    std::uint32_t first_use = 0, uses = 0;
    std::uint32_t stopped_at = kNone;  ///< its use of the link that stopped it; kNone at its cap
    State state = State::kSettled;
    bool present = false;
  };
  struct Link {
    std::int64_t capacity = 0;
    std::int64_t load = 0;                     ///< of settled activities
    std::int64_t own_load = 0, own_share = 0;  ///< of those that this link stopped
    std::int64_t free_share = 0;               ///< of free activities
    std::int64_t share = 0;                    ///< of all
    double level = kUnbounded;                 ///< at which it stops its own, if it has any
    double due = kUnbounded;                   ///< key of its valid entry in due_
    std::uint64_t solved = 0, released = 0;    ///< the last solve that saturated it, or let its own rise
    std::uint32_t first_use = kNone, uses = 0;
    bool touched = false;
  };
  /// A level at which a link, or (from links() on) an activity with a cap, must be looked at.
  using Due = std::pair<double, std::uint32_t>;

  std::span<Use> uses_of(const Activity& activity) { return {uses_.data() + activity.first_use, activity.uses}; }
  std::span<const Use> uses_of(const Activity& activity) const {
    return {uses_.data() + activity.first_use, activity.uses};
  }
  std::uint32_t allocate_uses(std::size_t count);
  void link_in(std::uint32_t use);
  void link_out(const Use& use);
  void touch(LinkIndex link);
  bool settle_alone(Slot slot);
  void set_free(Slot slot);
  void settle(Slot slot, double level);
  void saturate(Link& link, double level);
  void queue_touched();
  void queue(LinkIndex link, double level);
  double bound(const Link& link) const;
  double saturation(const Link& link) const;
  void look_at(LinkIndex index);
  void free_above(const Link& link);
  void release(LinkIndex index);
  void own(Link& link, std::uint32_t use);
  void disown(Activity& activity);

  std::vector<Link> links_;
  std::vector<Activity> activities_;
  std::vector<Use> uses_;
  std::vector<Slot> free_slots_;
  std::vector<std::vector<std::uint32_t>> free_uses_;  ///< blocks of 2^i uses
  std::vector<Slot> added_, changed_, settled_now_;
  std::vector<LinkIndex> touched_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::uint64_t solves_ = 0;
  double water_ = 0;  ///< the level reached by the running solve
};

}  // namespace sim
