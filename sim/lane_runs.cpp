// The runs of a process.
#include "sim/lane_process.h"

#include <algorithm>

namespace sim {
namespace {

using strategies::Lane;

constexpr std::size_t kCompute = static_cast<std::size_t>(Lane::kCompute);
constexpr std::size_t kTensor = static_cast<std::size_t>(Lane::kTensor);
constexpr std::array<std::size_t, 2> kRunLanes{kCompute, kTensor};

}  // namespace

// ---- Runs -----------------------------------------------------------------------------------------------------------

/// False where the operation at the front makes no run.
bool LaneProcess::begin_run(std::size_t lane, std::int64_t now) {
  const std::uint32_t count = run_length(lane);
  if (count == 0) return false;
  const LaneFront& state = lanes_[lane];
  const FlatOperation& what = front(lane);
  run_.block = &block(lane);
  run_.first = index(lane);
  run_.at = 0;
  set_run_length(count);
  run_.issued = section(state.front.step, call(lane).first_section + what.section);
  run_.progress = Progress::of(what.duration_ns, now, rate_of(what));
  run_.begin = now;
  run_.binding = state.binding.cause;
  for (const std::size_t other : kRunLanes) {
    if (in_run(other)) lanes_[other].state = LaneState::kWorking;
  }
  expect_run();
  return true;
}

/// While other transfers are in flight, kernels alone. The other lane takes part if its turn comes within the run.
std::uint32_t LaneProcess::run_length(std::size_t lane) const {
  const std::size_t other = lane == kCompute ? kTensor : kCompute;
  const LaneFront& joining = lanes_[other];
  const std::uint32_t first = index(lane);
  const std::vector<FlatOperation>& operations = block(lane).operations;
  std::uint32_t whole = flat_.shapes[call(lane).shape].run[first];
  while (whole > 1 && operations[first + whole - 1].exchange) --whole;  // so that the compute lane leaves last
  std::uint32_t count = 1;
  while (count < whole && operations[first + count].lane == front(lane).lane) ++count;
  const bool joins = activities_.quiet() && count < whole && joining.state == LaneState::kIdle &&
                     joining.operation == &operations[first + count] && joining.call == lanes_[lane].call &&
                     joining.front.step == lanes_[lane].front.step;
  if (joins) return whole;
  return front(lane).kernel ? count : 0;
}

void LaneProcess::set_run_length(std::uint32_t count) {
  run_.count = count;
  for (const std::size_t lane : kRunLanes) run_.leaves[lane] = 0;
  for (std::uint32_t i = run_.at; i < count; ++i) run_.leaves[static_cast<std::size_t>(of_run(i).lane)] = i + 1;
}

/// Books what of the run has ended by now, at the rates in force so far, and leaves lanes that it no longer needs.
void LaneProcess::walk_run(std::int64_t now) {
  std::array<bool, kRunLanes.size()> held{};
  for (std::size_t i = 0; i < held.size(); ++i) held[i] = in_run(kRunLanes[i]);
  while (run_.at < run_.count && run_.progress.end() <= now) {
    const FlatOperation& what = of_run(run_.at);
    const auto lane = static_cast<std::size_t>(what.lane);
    const std::int64_t end = run_.progress.end();
    const std::int64_t lost = end - run_.begin - what.duration_ns;
    const Cause cause = book(lane, what, {run_.begin, run_.begin, end, what.waiting, what.running, lost}, run_.binding);
    pass(lane, what, {end, cause});
    if (++run_.at == run_.count) break;
    const FlatOperation& next = of_run(run_.at);
    Binding binding;
    binding.offer(free_[static_cast<std::size_t>(next.lane)]);
    binding.offer({end, cause});
    binding.offer({run_.issued.time + next.issued_ns, run_.issued.cause});
    run_.begin = binding.latest().time;
    run_.binding = binding.latest().cause;
    run_.progress = Progress::of(next.duration_ns, run_.begin, rate_of(next));
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i] && !in_run(kRunLanes[i])) leave(kRunLanes[i]);
  }
}

/// When the run leaves each of its lanes.
void LaneProcess::expect_run() {
  std::int64_t time = run_.progress.end();
  lanes_[static_cast<std::size_t>(of_run(run_.at).lane)].due = time;
  for (std::uint32_t i = run_.at + 1; i < run_.count; ++i) {
    const FlatOperation& what = of_run(i);
    const std::int64_t begin = std::max(time, run_.issued.time + what.issued_ns);
    time = Progress::of(what.duration_ns, begin, rate_of(what)).end();
    lanes_[static_cast<std::size_t>(what.lane)].due = time;
  }
}

/// Another transfer is in flight now: the run goes on to the end of its kernels; an exchange goes on by itself.
void LaneProcess::cut_run(std::int64_t now) {
  std::uint32_t count = run_.at;
  while (count < run_.count && of_run(count).kernel) ++count;
  const bool exchanges = count == run_.at;
  for (const std::size_t lane : kRunLanes) {
    const bool stays = lane == (exchanges ? kTensor : kCompute);
    if (!in_run(lane)) continue;
    if (stays) {
      look_at_front(lane);
    } else {
      leave(lane);
    }
  }
  if (exchanges) hand_over(now);
  set_run_length(exchanges ? run_.at : count);
}

/// The exchange that the run has come to becomes one that shares.
void LaneProcess::hand_over(std::int64_t now) {
  LaneFront& state = lanes_[kTensor];
  state.binding = {run_.begin, run_.binding};
  state.due = run_.progress.end();
  if (run_.begin > now) {
    state.state = LaneState::kScheduled;
    state.due = run_.begin;
    return;
  }
  state.turn = run_.begin;
  state.alone = run_.begin + front(kTensor).duration_ns;
  activities_.resume(Lane::kTensor, front(kTensor).load, run_.progress);
}

/// The rates follow what has started and ended at `now`. True if a lane has been left.
bool LaneProcess::settle(std::int64_t now) {
  if (!activities_.changed()) return false;
  const auto runs = [this] { return run_.at < run_.count; };
  if (runs()) walk_run(now);
  const bool cut = runs() && !activities_.quiet();
  if (cut) cut_run(now);
  activities_.settle(now);
  for (const std::size_t lane : used_) {
    if (activities_.active(static_cast<Lane>(lane))) lanes_[lane].due = activities_.end(static_cast<Lane>(lane));
  }
  if (runs()) {
    run_.progress.change_rate(rate_of(of_run(run_.at)), now);
    expect_run();
  }
  return cut;
}

}  // namespace sim
