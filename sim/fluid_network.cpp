#include "sim/fluid_network.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace sim {
namespace {

constexpr double kNanosecond = 1e-9;
// Ends are rounded up to whole nanoseconds, but not for what rounding of rates and work can add.
constexpr double kRounding = 0x1p-6;
constexpr double kLongest = 0x1p62;

std::int64_t drained_at(std::int64_t now, double left, double rate) {
  if (left <= 0) return now;
  const double wait = std::ceil(left / rate - kRounding);
  const double room = kLongest - static_cast<double>(now);
  return wait < room ? now + static_cast<std::int64_t>(std::max(wait, 0.0)) : TimeIndex::kNever;
}

}  // namespace

FluidNetwork::FluidNetwork(Engine& engine, std::span<const hw_models::BytesPerSecond> capacities, EventId first_event)
    : engine_(engine), fairness_(capacities), first_event_(first_event) {}

void FluidNetwork::start(const FluidActivity& activity) {
  if (activity.work.value() < 0) throw std::invalid_argument("FluidNetwork: work must not be negative");
  if (activity.latency_ns < 0) throw std::invalid_argument("FluidNetwork: latency must not be negative");
  if (activity.latency_ns > 0 || activity.work.value() == 0) {
    fairness_.check(activity.uses, activity.weight, activity.cap);
    wait(activity, started_);
    post();
  } else {
    begin(activity, started_);
  }
  ++started_;
  ++active_;
}

void FluidNetwork::wait(const FluidActivity& activity, std::uint64_t sequence) {
  if (free_waiting_.empty()) {
    free_waiting_.push_back(static_cast<std::uint32_t>(waiting_.size()));
    waiting_.emplace_back();
  }
  const std::uint32_t slot = free_waiting_.back();
  free_waiting_.pop_back();
  Waiting& waiting = waiting_[slot];
  waiting.uses.assign(activity.uses.begin(), activity.uses.end());
  waiting.activity = activity;
  waiting.activity.uses = {};
  waiting.sequence = sequence;
  begins_.set(slot, engine_.now() + activity.latency_ns);
}

void FluidNetwork::begin(const FluidActivity& activity, std::uint64_t sequence) {
  const MaxMinFairness::Slot slot = fairness_.add(activity.uses, activity.weight, activity.cap);
  if (slot >= running_.size()) running_.resize(slot + std::size_t{1});
  running_[slot] = {static_cast<double>(activity.work.value()), 0, engine_.now(), activity.tag, sequence, true};
  request_settle();
}

void FluidNetwork::set_capacity(LinkIndex link, hw_models::BytesPerSecond capacity) {
  fairness_.set_capacity(link, capacity);
  request_settle();
}

void FluidNetwork::request_settle() {
  if (settle_at_ == engine_.now()) return;
  settle_at_ = engine_.now();
  engine_.at_end(settle_at_, first_event_ + 1);
}

/// Takes everything that is due out before anyone hears of it, so that what starts now finds the links free.
void FluidNetwork::collect_due() {
  const std::int64_t now = engine_.now();
  if (posted_ <= now) posted_ = TimeIndex::kNever;
  ended_.clear();
  while (ends_.earliest() <= now) {
    const MaxMinFairness::Slot slot = ends_.first();
    ends_.set(slot, TimeIndex::kNever);
    Running& running = running_[slot];
    ended_.emplace_back(running.sequence, running.tag);
    running.present = false;
    fairness_.remove(slot);
  }
  if (!ended_.empty()) request_settle();
  while (begins_.earliest() <= now) {
    const std::uint32_t slot = begins_.first();
    begins_.set(slot, TimeIndex::kNever);
    Waiting& waiting = waiting_[slot];
    if (waiting.activity.work.value() == 0) {
      ended_.emplace_back(waiting.sequence, waiting.activity.tag);
    } else {
      waiting.activity.uses = waiting.uses;
      begin(waiting.activity, waiting.sequence);
    }
    free_waiting_.push_back(slot);
  }
  active_ -= ended_.size();
  std::ranges::sort(ended_);
}

void FluidNetwork::settle() {
  const std::int64_t now = engine_.now();
  settle_at_ = -1;
  ++solves_;
  for (const MaxMinFairness::Slot slot : fairness_.solve()) {
    Running& running = running_[slot];
    running.left -= running.rate * static_cast<double>(now - running.since);
    running.since = now;
    running.rate = fairness_.rate(slot) * kNanosecond;
    ends_.set(slot, drained_at(now, running.left, running.rate));
  }
  post();
}

void FluidNetwork::post() {
  const std::int64_t next = std::min(ends_.earliest(), begins_.earliest());
  if (next >= posted_) return;
  posted_ = next;
  engine_.at(next, first_event_);
}

std::int64_t FluidNetwork::alone_ns(const FluidActivity& activity) const {
  std::vector<LinkUse> uses(activity.uses.begin(), activity.uses.end());
  std::ranges::sort(uses, {}, &LinkUse::link);
  double rate = activity.cap.value();
  double factor = 0;  // of all uses of a link so far
  for (std::size_t i = 0; i < uses.size(); ++i) {
    factor = i > 0 && uses[i - 1].link == uses[i].link ? factor + uses[i].factor : uses[i].factor;
    if (factor > 0) rate = std::min(rate, fairness_.capacity(uses[i].link) / factor);
  }
  return drained_at(activity.latency_ns, static_cast<double>(activity.work.value()), rate * kNanosecond);
}

std::vector<FluidNetwork::Stalled> FluidNetwork::stalled() const {
  std::vector<std::pair<std::uint64_t, Stalled>> found;
  for (MaxMinFairness::Slot slot = 0; slot < running_.size(); ++slot) {
    const Running& running = running_[slot];
    if (!running.present || ends_.at(slot) != TimeIndex::kNever) continue;
    found.emplace_back(running.sequence, Stalled{running.tag, fairness_.bottleneck(slot)});
  }
  std::ranges::sort(found, {}, &std::pair<std::uint64_t, Stalled>::first);
  std::vector<Stalled> result;
  for (const auto& [sequence, stalled] : found) result.push_back(stalled);
  return result;
}

}  // namespace sim
