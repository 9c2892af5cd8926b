// The serial stretches of a process.
#include "sim/lane_process.h"

namespace sim {
namespace {

constexpr std::size_t kCompute = static_cast<std::size_t>(strategies::Lane::kCompute);

}  // namespace

/// False where the operation at the front begins none, or something else is in progress. Books all of it, ahead of
/// time: nothing can come between. Records want every operation.
bool LaneProcess::pass_stretch(std::size_t lane) {
  if (completed_ + 1 != issued_ || !records_.empty()) return false;
  const std::uint32_t first = index(lane);
  const SerialStretch* stretch = block(lane).stretch_at(first);
  if (stretch == nullptr) return false;
  const std::vector<FlatOperation>& operations = block(lane).operations;
  const FlatCall& at = call(lane);
  const std::int32_t step = lanes_[lane].front.step;
  const std::uint32_t pairs = (stretch->last - first) / 2;
  Moment ready = lanes_[lane].binding;
  for (std::uint32_t i = first;; i += 2) {
    Moment end = pass_alone(operations[i], ready);
    if (i == stretch->from) {
      end = skip_to_last_compute(*stretch, at, step, end);
      i = stretch->to;
    }
    end = pass_alone(operations[i + 1], end);
    host_ = {end.time, ledger_.add(end.time, TimeKind::kHost, end.cause)};
    if (i + 2 == stretch->last) break;
    ready = {host_.time + operations[i + 2].issued_ns, host_.cause};
  }
  issued_ += pairs - 1;
  host_section_ += pairs;
  host_waits_ = false;
  for (const std::size_t each : used_) {
    LaneFront& state = lanes_[each];
    if (state.call != &at || state.front.step != step || state.front.place > stretch->passed[each]) continue;
    state.front.place = stretch->passed[each];
    leave(each);
  }
  return true;
}

/// Alone on the GPU.
Moment LaneProcess::pass_alone(const FlatOperation& what, Moment ready) {
  const auto lane = static_cast<std::size_t>(what.lane);
  const std::int64_t end = ready.time + what.duration_ns;
  const Cause cause = book(lane, what, {ready.time, ready.time, end, what.waiting, what.running}, ready.cause);
  pass(lane, what, {end, cause});
  return {end, cause};
}

/// On from the end of the first operation on the compute lane. The other lanes' free times stay behind: they bind
/// nothing any more.
Moment LaneProcess::skip_to_last_compute(const SerialStretch& stretch, const FlatCall& at, std::int32_t step,
                                         Moment first) {
  const Moment last{first.time + stretch.duration_ns, first.cause};
  for (const SerialStretch::Outlived& each : stretch.outlived) {
    end_of(step, at.first_end + each.named) = {first.time + each.end_ns, kNoCause};
  }
  ledger_.book_compute(last.time, stretch.spent, counts(step));
  free_[kCompute] = last;
  completed_ += (stretch.to - stretch.from) / 2;
  return last;
}

}  // namespace sim
