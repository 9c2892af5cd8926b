#include "strategies/pipeline/automatic_orders.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "strategies/pipeline/order_span.h"
#include "strategies/pipeline/registered.h"

namespace strategies {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// One stage at planned time.
struct StageState {
  std::int64_t free = 0;
  std::int64_t kept = 0;
  int forwards = 0, backwards = 0, weights = 0;
  bool last_was_backward = false;
  std::vector<std::int64_t> activation, gradient;  ///< arrivals, by microbatch
  std::vector<ComputeAction> order;
};

class ListScheduler {
 public:
  ListScheduler(const ScheduleShape& shape, int microbatches_kept, bool fills_short_gaps)
      : shape_(shape),
        microbatches_kept_(microbatches_kept),
        fills_short_gaps_(fills_short_gaps),
        stages_(static_cast<std::size_t>(shape.stages)) {
    for (StageState& stage : stages_) {
      stage.activation.assign(static_cast<std::size_t>(shape.microbatches), kNever);
      stage.gradient = stage.activation;
    }
    std::ranges::fill(stages_.front().activation, 0);
  }

  Orders run() {
    for (int s = 0; s < shape_.stages; ++s) wake(0, s);
    while (!wakings_.empty()) {
      const auto [time, sequence, s] = wakings_.top();
      wakings_.pop();
      if (time >= state(s).free) act(s, time);
    }
    Orders orders;
    for (StageState& stage : stages_) orders.push_back(std::move(stage.order));
    return orders;
  }

 private:
  StageState& state(int s) { return stages_[static_cast<std::size_t>(s)]; }
  void wake(std::int64_t time, int s) { wakings_.emplace(time, sequence_++, s); }

  static std::int64_t arrival(const std::vector<std::int64_t>& arrivals, int microbatch) {
    const auto index = static_cast<std::size_t>(microbatch);
    return index < arrivals.size() ? arrivals[index] : kNever;
  }

  void act(int s, std::int64_t now) {
    StageState& stage = state(s);
    const std::int64_t activation = arrival(stage.activation, stage.forwards);
    const std::int64_t gradient = arrival(stage.gradient, stage.backwards);
    const PassCosts& cost = shape_.cost(s);
    const bool room = stage.kept + cost.kept <= microbatches_kept_ * cost.kept;
    const BlockKind next = preferred(stage, cost, now, activation, gradient, room);
    const std::int64_t arrives = next == BlockKind::kForward ? activation : gradient;
    const bool weights_wait = stage.weights < stage.backwards;
    if (next == BlockKind::kForward && activation <= now && !room) {
      if (weights_wait) {
        weight(s, now);
      } else if (gradient <= now) {
        backward(s, now);
      }
    } else if (arrives <= now) {
      next == BlockKind::kForward ? forward(s, now) : backward(s, now);
    } else if (weights_wait && (fills_short_gaps_ || arrives == kNever || arrives - now >= cost.weight)) {
      weight(s, now);
    }
  }

  BlockKind preferred(const StageState& stage, const PassCosts& cost, std::int64_t now, std::int64_t activation,
                      std::int64_t gradient, bool room) const {
    if (stage.forwards == shape_.microbatches) return BlockKind::kBackwardInput;
    if (stage.backwards == 0) {
      const bool in_time =
          gradient == kNever || (gradient > now && std::max(now, activation) <= gradient - cost.forward);
      return room && in_time ? BlockKind::kForward : BlockKind::kBackwardInput;
    }
    if (stage.last_was_backward) {
      return activation > now && gradient <= now ? BlockKind::kBackwardInput : BlockKind::kForward;
    }
    return gradient > now && activation <= now && room ? BlockKind::kForward : BlockKind::kBackwardInput;
  }

  void forward(int s, std::int64_t now) {
    StageState& stage = state(s);
    const std::int64_t end = add(s, BlockKind::kForward, stage.forwards, now, shape_.cost(s).forward);
    const auto microbatch = static_cast<std::size_t>(stage.forwards++);
    stage.kept += shape_.cost(s).kept;
    stage.last_was_backward = false;
    if (s + 1 == shape_.stages) {
      stage.gradient[microbatch] = end;
    } else {
      state(s + 1).activation[microbatch] = end + shape_.cost(s).send;
      wake(end + shape_.cost(s).send, s + 1);
    }
  }

  void backward(int s, std::int64_t now) {
    StageState& stage = state(s);
    const std::int64_t end = add(s, BlockKind::kBackwardInput, stage.backwards, now, shape_.cost(s).backward);
    const auto microbatch = static_cast<std::size_t>(stage.backwards++);
    stage.kept += shape_.cost(s).kept_for_weight - shape_.cost(s).kept;
    stage.last_was_backward = true;
    if (s == 0) return;
    state(s - 1).gradient[microbatch] = end + shape_.cost(s).send;
    wake(end + shape_.cost(s).send, s - 1);
  }

  void weight(int s, std::int64_t now) {
    StageState& stage = state(s);
    add(s, BlockKind::kBackwardWeight, stage.weights, now, shape_.cost(s).weight);
    ++stage.weights;
    stage.kept -= shape_.cost(s).kept_for_weight;
  }

  std::int64_t add(int s, BlockKind kind, int microbatch, std::int64_t now, std::int64_t length) {
    StageState& stage = state(s);
    stage.order.push_back({kind, 0, microbatch});
    stage.free = now + length;
    wake(stage.free, s);
    return stage.free;
  }

  using Waking = std::tuple<std::int64_t, std::int64_t, int>;  ///< time, sequence, stage

  const ScheduleShape& shape_;
  int microbatches_kept_;
  bool fills_short_gaps_;
  std::vector<StageState> stages_;
  std::priority_queue<Waking, std::vector<Waking>, std::greater<>> wakings_;
  std::int64_t sequence_ = 0;
};

bool complete(const ScheduleShape& shape, const Orders& orders) {
  return std::ranges::all_of(orders, [&](const std::vector<ComputeAction>& order) {
    return order.size() == 3 * static_cast<std::size_t>(shape.microbatches);
  });
}

}  // namespace

Orders automatic_orders(const ScheduleShape& shape, int microbatches_kept) {
  const std::vector<int> stages = round_robin_stages(shape);
  Orders best = each_stage<zb_h1_actions>(shape);
  std::int64_t shortest = order_span(shape, best, stages)->longest;
  for (const bool fills_short_gaps : {true, false}) {
    Orders orders = ListScheduler(shape, microbatches_kept, fills_short_gaps).run();
    if (!complete(shape, orders)) continue;  // a stage without room waited for itself
    const std::int64_t longest = order_span(shape, orders, stages)->longest;
    if (longest >= shortest) continue;
    shortest = longest;
    best = std::move(orders);
  }
  return best;
}

}  // namespace strategies
