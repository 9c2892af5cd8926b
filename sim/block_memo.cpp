#include "sim/block_memo.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sim {
namespace {

using strategies::Lane;

/// More outcomes than this of one shape: its calls do not repeat, so looking through more would be in vain.
constexpr std::size_t kMostOutcomes = 16;

/// Evaluates one call in relative time and finds which inputs bound.
class Evaluation {
 public:
  Evaluation(const FlatBlock& block, const CallShape& shape, const Inputs& inputs, bool records)
      : block_(block), shape_(shape), inputs_(inputs), records_(records) {
    outcome_.valid.resize(inputs.size());
    frame_.ends.resize(block.operations.size());
    if (records) outcome_.times.resize(block.operations.size());
    std::uint32_t input = 0;
    for (const Lane lane : shape.lanes) {
      lane_input_[static_cast<std::size_t>(lane)] = static_cast<int>(input);
      frame_.lanes[static_cast<std::size_t>(lane)] = at_boundary(input++);
    }
    host_input_ = input;
    const Moment host = at_boundary(input++);
    frame_.host = {host.time, ledger_.add(host.time, TimeKind::kHost, host.cause)};
    for (std::size_t i = 0; i < shape.dependents.size(); ++i) needed_.push_back(at_boundary(input++));
    next_message_ = input;
  }

  BlockOutcome run() {
    for (std::uint32_t i = 0; i < block_.operations.size(); ++i) execute(i);
    finish();
    return std::move(outcome_);
  }

 private:
  Moment at_boundary(std::uint32_t input) {
    const std::int64_t time = inputs_[input];
    return {time, time > 0 ? ledger_.add_boundary(input) : kNoCause};
  }

  void execute(std::uint32_t i);
  Execution executed(const FlatOperation& what, std::int64_t ready);
  void limit_inputs(std::uint32_t i, std::int64_t limit);
  void finish();
  BlockOutcome::Output output(Moment moment) const;

  /// `input` + offset was offered to something that only notices it beyond `limit`.
  void touch(std::uint32_t input, std::int64_t offset, std::int64_t limit) {
    BlockOutcome::Range& valid = outcome_.valid[input];
    const std::int64_t value = inputs_[input];
    if (value + offset > limit) {
      valid = {value, value};
    } else {
      valid.high = std::min(valid.high, limit - offset);
    }
  }

  const FlatBlock& block_;
  const CallShape& shape_;
  const Inputs& inputs_;
  bool records_;
  BlockOutcome outcome_;
  Ledger ledger_;
  Frame frame_;
  std::vector<Moment> needed_;
  std::array<int, strategies::kLanes> lane_input_ = [] {
    std::array<int, strategies::kLanes> none{};
    none.fill(-1);
    return none;
  }();  ///< while nothing of this call has run on the lane
  std::uint32_t host_input_ = 0;
  bool host_from_entry_ = true;  ///< no host operation so far
  std::int64_t issued_ns_ = 0;
  std::uint32_t next_message_ = 0;
};

void Evaluation::execute(std::uint32_t i) {
  const FlatOperation& what = block_.operations[i];
  frame_.host.time += what.issue_ns;
  issued_ns_ += what.issue_ns;
  Binding binding;
  for_each_prerequisite(frame_, block_, shape_, i, needed_, [&](Moment moment) { binding.offer(moment); });
  const std::int64_t ready = binding.latest().time;
  const Execution done = executed(what, ready);
  // A receive that waited for its message notices an input only if that comes after the message; and when exactly its
  // wait began is of no account as long as the compute lane was not idle yet.
  const bool lenient = what.meeting == Meeting::kReceive && !what.on_compute() && !records_;
  limit_inputs(i, lenient ? std::max(ready - 1, std::min<std::int64_t>(done.end - 1, 0)) : ready - 1);

  const Cause cause = ledger_.book(done, binding.latest().cause, what.on_compute(), true);
  frame_.ends[i] = {done.end, cause};
  frame_.lanes[static_cast<std::size_t>(what.lane)] = frame_.ends[i];
  lane_input_[static_cast<std::size_t>(what.lane)] = -1;
  if (what.host) {
    frame_.host = {done.end, ledger_.add(done.end, TimeKind::kHost, cause)};
    host_from_entry_ = false;
  }
  if (what.meeting == Meeting::kSend) outcome_.sends.push_back({i, done.ready, done.end});
  if (what.on_compute()) outcome_.last_compute_end = done.end;
  outcome_.last_end = std::max(outcome_.last_end, done.end);
  if (records_) outcome_.times[i] = {done.ready, done.end};
}

Execution Evaluation::executed(const FlatOperation& what, std::int64_t ready) {
  if (what.meeting != Meeting::kReceive) return {ready, ready, ready + what.duration_ns, what.waiting, what.running};
  const std::uint32_t arrival = next_message_++;
  const std::uint32_t sent = next_message_++;
  const std::int64_t end = std::max(ready, inputs_[arrival]);
  touch(arrival, 0, ready);
  if (inputs_[arrival] > ready) touch(sent, 0, what.on_compute() ? ready : std::max<std::int64_t>(ready, 0));
  return {ready, std::clamp(inputs_[sent], ready, end), end, what.waiting, what.running};
}

void Evaluation::limit_inputs(std::uint32_t i, std::int64_t limit) {
  const FlatOperation& what = block_.operations[i];
  const auto touch_lane = [&](std::size_t lane) {
    if (lane_input_[lane] >= 0) touch(static_cast<std::uint32_t>(lane_input_[lane]), 0, limit);
  };
  touch_lane(static_cast<std::size_t>(what.lane));
  for (std::uint32_t k = 0; k < needed_.size(); ++k) {
    if (shape_.dependents[k] == i) touch(host_input_ + 1 + k, 0, limit);
  }
  if (host_from_entry_) touch(host_input_, issued_ns_, limit);
  if (what.drains && !shape_.names(i)) {
    for (std::size_t lane = 0; lane < lane_input_.size(); ++lane) touch_lane(lane);
  }
}

BlockOutcome::Output Evaluation::output(Moment moment) const {
  BlockOutcome::Output result;
  result.time = moment.time;
  result.tail = ledger_.chain(ledger_.compute_free(), moment, result.chain);
  return result;
}

void Evaluation::finish() {
  outcome_.compute_free = ledger_.compute_free();
  for (const Lane lane : shape_.lanes) {
    BlockOutcome::Output out = output(frame_.lanes[static_cast<std::size_t>(lane)]);
    const int untouched = lane_input_[static_cast<std::size_t>(lane)];
    if (untouched >= 0) out = {0, {}, untouched};
    outcome_.lanes.push_back(std::move(out));
  }
  outcome_.host_runs_through = host_from_entry_;
  if (host_from_entry_) {
    outcome_.host.time = issued_ns_;
  } else {
    outcome_.host = output(frame_.host);
  }
  outcome_.exports.resize(block_.exports);
  for (std::size_t i = 0; i < block_.operations.size(); ++i) {
    const std::int32_t exported = block_.operations[i].exported;
    if (exported >= 0) outcome_.exports[static_cast<std::size_t>(exported)] = output(frame_.ends[i]);
  }
  outcome_.spent = ledger_.spent();
  outcome_.deferred = ledger_.deferred();
}

}  // namespace

bool BlockOutcome::valid_for(const Inputs& inputs) const {
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (inputs[i] < valid[i].low || inputs[i] > valid[i].high) return false;
  }
  return true;
}

const BlockOutcome& BlockMemo::outcome(const FlatBlock& block, const CallShape& shape, const Inputs& inputs,
                                       bool records) {
  const auto found = std::ranges::find_if(known_, [&](const BlockOutcome& o) { return o.valid_for(inputs); });
  if (found != known_.end()) return *found;
  ++evaluations_;
  if (known_.size() < kMostOutcomes) return known_.emplace_back(Evaluation(block, shape, inputs, records).run());
  oldest_ = (oldest_ + 1) % kMostOutcomes;
  return known_[oldest_] = Evaluation(block, shape, inputs, records).run();
}

}  // namespace sim
