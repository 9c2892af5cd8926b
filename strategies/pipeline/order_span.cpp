#include "strategies/pipeline/order_span.h"

#include <algorithm>
#include <cstddef>

namespace strategies {
namespace {

class OrderWalk {
 public:
  OrderWalk(const ScheduleShape& shape, const Orders& orders, const std::vector<int>& stage_of_virtual)
      : shape_(shape), orders_(orders), stage_of_(stage_of_virtual), stages_(orders.size()), virtuals_(orders.size()) {
    for (std::size_t v = 0; v < stage_of_.size(); ++v) {
      virtuals_[static_cast<std::size_t>(stage_of_[v])].push_back(static_cast<int>(v));
    }
    const std::vector<std::int64_t> none(static_cast<std::size_t>(shape.microbatches), kNever);
    forward_.assign(stage_of_.size(), none);
    backward_.assign(stage_of_.size(), none);
  }

  std::optional<OrderSpan> run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t s = 0; s < stages_.size(); ++s) moved = advance(s) || moved;
    }
    OrderSpan span;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (stages_[s].next != orders_[s].size()) return std::nullopt;
      span.all = std::max(span.all, stages_[s].free);
      span.longest = std::max(span.longest, stages_[s].free - stages_[s].begin);
    }
    return span;
  }

 private:
  static constexpr std::int64_t kNever = -1;
  struct Progress {
    std::size_t next = 0;
    std::int64_t free = 0, begin = 0;
  };

  bool advance(std::size_t s) {
    Progress& stage = stages_[s];
    const std::size_t before = stage.next;
    for (; stage.next < orders_[s].size(); ++stage.next) {
      const ComputeAction& action = orders_[s][stage.next];
      const int v = virtuals_[s][static_cast<std::size_t>(action.chunk)];
      const std::int64_t arrived = arrival(action, v);
      if (arrived == kNever) break;
      const std::int64_t begin = std::max(stage.free, arrived);
      if (stage.next == 0) stage.begin = begin;
      stage.free = begin + length(action, v);
      note_end(action, v, stage.free);
    }
    return stage.next != before;
  }

  std::int64_t length(const ComputeAction& action, int v) const {
    const PassCosts& cost = shape_.cost(v);
    switch (action.kind) {
      case BlockKind::kForward:
        return cost.forward;
      case BlockKind::kBackwardInput:
        return cost.backward;
      case BlockKind::kBackwardWeight:
        return cost.weight;
      default:
        return cost.backward + cost.weight;
    }
  }

  std::int64_t arrival(const ComputeAction& action, int v) const {
    const int last = static_cast<int>(stage_of_.size()) - 1;
    if (action.kind == BlockKind::kBackwardWeight) return 0;
    if (action.kind == BlockKind::kForward) {
      return v == 0 ? 0 : sent(forward_, v - 1, v, action.microbatch);
    }
    return v == last ? at(forward_, v, action.microbatch) : sent(backward_, v + 1, v, action.microbatch);
  }

  using Ends = std::vector<std::vector<std::int64_t>>;  ///< by virtual stage and microbatch
  static std::int64_t at(const Ends& ends, int v, int microbatch) {
    return ends[static_cast<std::size_t>(v)][static_cast<std::size_t>(microbatch)];
  }
  std::int64_t sent(const Ends& ends, int from, int to, int microbatch) const {
    const std::int64_t end = at(ends, from, microbatch);
    const bool moves = stage_of_[static_cast<std::size_t>(from)] != stage_of_[static_cast<std::size_t>(to)];
    return end == kNever || !moves ? end : end + shape_.cost(from).send;
  }
  void note_end(const ComputeAction& action, int v, std::int64_t end) {
    if (action.kind == BlockKind::kBackwardWeight) return;
    Ends& ends = action.kind == BlockKind::kForward ? forward_ : backward_;
    ends[static_cast<std::size_t>(v)][static_cast<std::size_t>(action.microbatch)] = end;
  }

  const ScheduleShape& shape_;
  const Orders& orders_;
  const std::vector<int>& stage_of_;
  std::vector<Progress> stages_;
  std::vector<std::vector<int>> virtuals_;  ///< of each stage, by chunk
  Ends forward_, backward_;
};

}  // namespace

std::optional<OrderSpan> order_span(const ScheduleShape& shape, const Orders& orders,
                                    const std::vector<int>& stage_of_virtual) {
  return OrderWalk(shape, orders, stage_of_virtual).run();
}

}  // namespace strategies
