#include "sim/breakdown.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <variant>

namespace sim {
namespace {

using strategies::Lane;
using strategies::Phase;

TimeKind compute_kind(Phase phase) {
  if (phase == Phase::kRecompute) return TimeKind::kRecompute;
  return phase == Phase::kUpdate ? TimeKind::kOptimizer : TimeKind::kCompute;
}

/// Of a collective on the compute lane its purpose must tell.
TimeKind collective_kind(Phase phase) {
  return phase == Phase::kReduce || phase == Phase::kGather || phase == Phase::kUpdate ? TimeKind::kExposedData
                                                                                       : TimeKind::kExposedTensor;
}

TimeKind lane_kind(Lane lane) {
  switch (lane) {
    case Lane::kTensor:
      return TimeKind::kExposedTensor;
    case Lane::kData:
    case Lane::kGather:
      return TimeKind::kExposedData;
    case Lane::kSendNext:
    case Lane::kSendPrevious:
    case Lane::kReceiveNext:
    case Lane::kReceivePrevious:
      return TimeKind::kExposedPipeline;
    case Lane::kContext:
      return TimeKind::kExposedContext;
    case Lane::kExpert:
      return TimeKind::kExposedExpert;
    case Lane::kHost:
      return TimeKind::kHost;
    case Lane::kCompute:
    case Lane::kStorage:
      break;
  }
  return TimeKind::kOther;
}

/// Makes `spent` sum to `step_ns`.
void settle(Breakdown& spent, std::int64_t step_ns) {
  const auto of = [&spent](TimeKind kind) -> std::int64_t& { return spent[static_cast<std::size_t>(kind)]; };
  std::int64_t missing = step_ns - std::accumulate(spent.begin(), spent.end(), std::int64_t{0});
  if (missing >= 0) {
    of(TimeKind::kBubble) += missing;
    return;
  }
  for (const TimeKind kind : {TimeKind::kBubble, TimeKind::kImbalance, TimeKind::kStraggler, TimeKind::kExposedPipeline,
                              TimeKind::kExposedData, TimeKind::kExposedTensor, TimeKind::kExposedContext,
                              TimeKind::kExposedExpert, TimeKind::kDataStall, TimeKind::kHost}) {
    const std::int64_t taken = std::min(of(kind), -missing);
    of(kind) -= taken;
    missing += taken;
  }
  of(TimeKind::kOther) += missing;
}

std::int64_t& spent_on(Breakdown& breakdown, TimeKind kind) { return breakdown[static_cast<std::size_t>(kind)]; }

/// What of the time waiting for other stages is the input pipeline's goes to data stall; the rest to bubble.
void divide_stall(std::vector<ClassResult>& results) {
  std::int64_t longest_stall = 0;
  for (ClassResult& each : results)
    longest_stall = std::max(longest_stall, spent_on(each.breakdown, TimeKind::kDataStall));
  for (ClassResult& each : results) {
    std::int64_t& waiting = spent_on(each.breakdown, TimeKind::kBubble);
    std::int64_t& stall = spent_on(each.breakdown, TimeKind::kDataStall);
    waiting += std::exchange(spent_on(each.breakdown, TimeKind::kImbalance), 0);
    const std::int64_t starved = std::clamp(longest_stall - stall, std::int64_t{0}, waiting);
    stall += starved;
    waiting -= starved;
  }
}

/// Time not spent waiting, `waiting` still in bubble.
std::int64_t work_of(Breakdown& breakdown, std::int64_t step_ns) {
  return step_ns - spent_on(breakdown, TimeKind::kBubble) - spent_on(breakdown, TimeKind::kDataStall) -
         spent_on(breakdown, TimeKind::kStraggler);
}

std::int64_t lost_to_slowness(Breakdown& breakdown, double speed) {
  const std::int64_t kernels = spent_on(breakdown, TimeKind::kCompute) + spent_on(breakdown, TimeKind::kRecompute) +
                               spent_on(breakdown, TimeKind::kOptimizer);
  return std::llround((1 - speed) * static_cast<double>(kernels));
}

/// Divides the time spent waiting for other stages into data stall, imbalance, straggler and bubble.
void divide_waiting(const RankClasses& classes, std::vector<ClassResult>& results, std::int64_t step_ns) {
  divide_stall(results);
  std::int64_t most_work = 0, most_sound = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::int64_t work = work_of(results[i].breakdown, step_ns);
    most_work = std::max(most_work, work);
    most_sound = std::max(most_sound, work - lost_to_slowness(results[i].breakdown, classes.all[i].speed));
  }
  for (ClassResult& each : results) {
    std::int64_t& bubble = spent_on(each.breakdown, TimeKind::kBubble);
    const std::int64_t work = work_of(each.breakdown, step_ns);
    const std::int64_t lacking = std::min(bubble, most_work - work);
    const std::int64_t imbalance = std::clamp(most_sound - work, std::int64_t{0}, lacking);
    spent_on(each.breakdown, TimeKind::kImbalance) = imbalance;
    spent_on(each.breakdown, TimeKind::kStraggler) += lacking - imbalance;
    bubble -= lacking;
  }
}

/// Ranks per class in lowest terms: a mean does not change, and the sums stay far from the 64-bit limit.
std::vector<std::int64_t> weights_of(const RankClasses& classes) {
  std::vector<std::int64_t> weights;
  for (const RankClass& each : classes.all) weights.push_back(each.ranks);
  std::int64_t divisor = 0;
  for (const std::int64_t weight : weights) divisor = std::gcd(divisor, weight);
  for (std::int64_t& weight : weights) weight /= std::max<std::int64_t>(1, divisor);
  return weights;
}

/// Mean over ranks. Rounds the running sum over kinds down, so that the kinds' sum is exact and order is of no account.
Breakdown mean_over_ranks(const RankClasses& classes, const std::vector<ClassResult>& results) {
  const std::vector<std::int64_t> weights = weights_of(classes);
  const std::int64_t all = std::max<std::int64_t>(1, std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
  Breakdown mean{};
  std::int64_t whole = 0, part = 0;  // the running mean: whole + part / all
  for (std::size_t kind = 0; kind < mean.size(); ++kind) {
    const std::int64_t before = whole;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::int64_t ns = results[i].breakdown[kind];
      whole += weights[i] * (ns / all);
      part += weights[i] * (ns % all);
      whole += part / all;
      part %= all;
    }
    if (part < 0) {
      part += all;
      --whole;
    }
    mean[kind] = whole - before;
  }
  return mean;
}

std::int64_t mean_contention(const RankClasses& classes, const std::vector<ClassResult>& results) {
  std::vector<ClassResult> contention(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) contention[i].breakdown[0] = results[i].contention_ns;
  return mean_over_ranks(classes, contention)[0];
}

}  // namespace

TimeKind running_kind(const strategies::Operation& operation) {
  if (std::holds_alternative<strategies::Host>(operation.work)) return TimeKind::kHost;
  if (std::holds_alternative<strategies::Send>(operation.work)) return TimeKind::kExposedPipeline;
  if (std::holds_alternative<strategies::Receive>(operation.work)) return TimeKind::kExposedPipeline;
  if (operation.lane != Lane::kCompute) return lane_kind(operation.lane);
  if (std::holds_alternative<strategies::Compute>(operation.work)) return compute_kind(operation.origin.phase);
  if (std::holds_alternative<strategies::Collective>(operation.work)) return collective_kind(operation.origin.phase);
  return TimeKind::kOther;
}

Cause Ledger::add(std::int64_t begin, TimeKind kind, Cause previous) {
  links_.push_back({begin, previous, kind, false});
  return static_cast<Cause>(links_.size() - 1);
}

Cause Ledger::book(const Execution& execution, Cause binding, bool on_compute_lane, bool count) {
  const auto& [ready, turn, end, waiting, running, lost] = execution;
  if (on_compute_lane) {
    if (count) {
      attribute(compute_free_, {ready, binding});
      spent_[static_cast<std::size_t>(waiting)] += turn - ready;
      spent_[static_cast<std::size_t>(running)] += end - turn;
      contention_ += lost;
    }
    compute_free_ = end;
    return kNoCause;
  }
  if (end <= compute_free_) return kNoCause;  // no later gap reaches back to it
  if (turn > ready) binding = add(ready, waiting, binding);
  if (end - lost > turn) binding = add(turn, running, binding);
  if (lost > 0) {
    binding = add(end - lost, running, binding);
    links_[binding].contended = true;
  }
  return binding;
}

void Ledger::attribute(std::int64_t begin, Moment until) {
  std::int64_t end = until.time;
  for (Cause cause = until.cause; end > begin;) {
    if (cause == kNoCause) {
      spent_[static_cast<std::size_t>(TimeKind::kOther)] += end - begin;
      return;
    }
    const Link& link = links_[cause];
    const std::int64_t from = std::max(begin, link.begin);
    if (from < end) {
      spent_[static_cast<std::size_t>(link.kind)] += end - from;
      if (link.contended) contention_ += end - from;
      end = from;
    }
    cause = link.previous;
  }
}

StepResult step_result(const RankClasses& classes, std::span<const ClassObservation> observed) {
  StepResult result;
  std::int64_t last = 0;
  std::int64_t before = 0;
  for (const ClassObservation& each : observed) {
    last = std::max(last, each.step_end.back());
    before = std::max(before, each.step_end[each.step_end.size() - 2]);
  }
  result.step_ns = last - before;
  for (const ClassObservation& each : observed) {
    ClassResult& of_class = result.of_class.emplace_back();
    of_class.step_end_ns = each.step_end.back();
    of_class.breakdown = each.spent;
    settle(of_class.breakdown, result.step_ns);
    of_class.contention_ns = each.contention;
  }
  divide_waiting(classes, result.of_class, result.step_ns);
  result.mean = mean_over_ranks(classes, result.of_class);
  result.contention_ns = mean_contention(classes, result.of_class);
  result.classes = classes;
  return result;
}

}  // namespace sim
