#include "sim/lane_process.h"

#include <algorithm>
#include <tuple>

namespace sim {
namespace {

using strategies::Lane;

constexpr std::int64_t kNever = TimeIndex::kNever;

}  // namespace

LaneProcess::LaneProcess(LaneWorld& world, std::uint32_t process)
    : world_(world),
      process_(process),
      role_(world.prices.classes.all[process].role),
      flat_(world.program, process, world.prices, world.rendezvous),
      activities_(world.sharing) {
  const auto steps = static_cast<std::size_t>(world.options.steps);
  ends_.resize(flat_.ends * steps, {kNotYet, kNoCause});
  sections_.resize(flat_.sections * steps, {kNotYet, kNoCause});
  host_.cause = ledger_.add(0, TimeKind::kHost, kNoCause);
  seen_.step_end.resize(steps);
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (flat_.calls_of[lane].empty()) continue;
    used_.push_back(lane);
    look_at_front(lane);
  }
  if (!world.options.records) return;
  const strategies::Rank rank = world.prices.classes.all[process].representative;
  for (std::uint32_t action = 0; action < flat_.calls.size(); ++action) {
    const std::size_t operations = flat_.blocks[flat_.calls[action].block].operations.size();
    for (std::uint32_t i = 0; i < operations; ++i) {
      records_.push_back({rank, {world.options.steps - 1, action, strategies::OperationId{i}}, 0, 0});
    }
  }
}

bool LaneProcess::finished() const {
  return std::ranges::all_of(used_, [this](std::size_t lane) { return at_end(lane); });
}

/// The lane that is furthest behind in program order.
std::string LaneProcess::place() const {
  std::size_t last = used_.front();
  const auto order = [this](std::size_t lane) {
    return std::tuple(lanes_[lane].front.step, at_end(lane) ? 0U : action(lane), at_end(lane) ? 0U : index(lane));
  };
  for (const std::size_t lane : used_) last = order(lane) < order(last) ? lane : last;
  return world_.program.roles[role_].name + " at action " + std::to_string(std::get<1>(order(last))) + " operation " +
         std::to_string(std::get<2>(order(last))) + ";";
}

void LaneProcess::handle(std::int64_t now) {
  for (bool again = true; again;) {
    again = false;
    for (const std::size_t lane : used_) {
      if (lanes_[lane].due > now) continue;
      fire(lane, now);
      again = true;
    }
    advance_host();
    again |= start_ready(now);
    if (!again) again = settle(now);
  }
  std::int64_t next = kNever;
  for (const std::size_t lane : used_) next = std::min(next, lanes_[lane].due);
  world_.next.set(process_, next);
}

// ---- The host -------------------------------------------------------------------------------------------------------

/// Issues up to the next host operation.
void LaneProcess::advance_host() {
  while (!host_waits_ && host_step_ < world_.options.steps && !flat_.calls.empty()) {
    const FlatCall& at = flat_.calls[host_action_];
    const FlatBlock& block = flat_.blocks[at.block];
    section(host_step_, at.first_section + host_section_) = host_;
    host_.time += block.section_ns[host_section_];
    starts_ = true;
    const std::size_t first = host_section_ == 0 ? 0 : block.hosts[host_section_ - 1] + 1;
    host_waits_ = host_section_ < block.hosts.size();
    const std::size_t last = host_waits_ ? block.hosts[host_section_] : block.operations.size();
    issued_ += static_cast<std::int64_t>(last - first);
    if (host_waits_) return;
    host_section_ = 0;
    if (++host_action_ < flat_.calls.size()) continue;
    host_action_ = 0;
    ++host_step_;
  }
}

bool LaneProcess::host_waits_at(std::size_t lane) const {
  return host_waits_ && lanes_[lane].front.step == host_step_ && action(lane) == host_action_ &&
         front(lane).section == host_section_;
}

// ---- Starting -------------------------------------------------------------------------------------------------------

bool LaneProcess::start_ready(std::int64_t now) {
  if (!starts_) return false;
  starts_ = false;
  bool started = false;
  for (const std::size_t lane : used_) {
    const LaneFront& state = lanes_[lane];
    if (state.state != LaneState::kIdle || state.operation == nullptr) continue;
    if (state.awaited == nullptr || state.awaited->time != kNotYet) started |= try_start(lane, now);
  }
  return started;
}

bool LaneProcess::try_start(std::size_t lane, std::int64_t now) {
  Binding binding;
  if (!offer_prerequisites(lane, binding)) return false;
  LaneFront& state = lanes_[lane];
  state.binding = binding.latest();
  if (state.binding.time <= now) {
    start(lane, now);
    return true;
  }
  state.state = LaneState::kScheduled;
  state.due = state.binding.time;
  return false;
}

/// In the order in which the first of equals binds; false while one of them is not known.
bool LaneProcess::offer_prerequisites(std::size_t lane, Binding& binding) {
  const FlatOperation& what = front(lane);
  const FlatCall& at = call(lane);
  const FlatBlock& in = flat_.blocks[at.block];
  const std::int32_t step = lanes_[lane].front.step;
  const auto known = [&](const Moment& moment) {
    lanes_[lane].awaited = moment.time == kNotYet ? &moment : nullptr;
    return moment.time != kNotYet;
  };
  const Moment& issued = section(step, at.first_section + what.section);
  if (!known(issued) || (what.host && !host_waits_at(lane))) return false;
  binding.offer(free_[lane]);
  for (std::uint32_t i = 0; i < what.after_count; ++i) {
    const auto named = static_cast<std::uint32_t>(in.operations[in.after[what.first_after + i]].named);
    const Moment& end = end_of(step, at.first_end + named);
    if (!known(end)) return false;
    binding.offer(end);
  }
  for (const Needed& needed : at.needed) {
    if (needed.dependent != index(lane) || step < needed.steps_back) continue;
    const Moment& end = end_of(step - needed.steps_back, needed.end);
    if (!known(end)) return false;
    binding.offer(end);
  }
  binding.offer(what.host ? host_ : Moment{issued.time + what.issued_ns, issued.cause});
  if (!what.drains || flat_.shapes[at.shape].names(index(lane))) return true;
  for (const Moment& free : free_) binding.offer(free);
  return completed_ == issued_;
}

void LaneProcess::start(std::size_t lane, std::int64_t now) {
  LaneFront& state = lanes_[lane];
  const FlatOperation& what = front(lane);
  state.turn = now;
  if (!what.host && pass_stretch(lane)) return;
  if ((what.kernel || what.exchange) && begin_run(lane, now)) return;
  if (what.meeting == Meeting::kReceive || what.meeting == Meeting::kJoint) {
    await(lane);
    if (what.meeting == Meeting::kJoint) post(lane, false, now);
    return;
  }
  if (what.input) {
    samples_ += what.samples;
    state.turn = std::max(now, input_ready_ns(world_.prices, samples_));
  }
  state.alone = state.turn + what.duration_ns;
  begin_share(lane, what.load, state.alone - now, now);
  if (what.meeting == Meeting::kSend) post(lane, false, now);
}

void LaneProcess::begin_share(std::size_t lane, LoadId load, std::int64_t work_ns, std::int64_t now) {
  activities_.start(static_cast<Lane>(lane), load, front(lane).bound, work_ns, now);
  lanes_[lane].state = LaneState::kWorking;
  lanes_[lane].due = activities_.end(static_cast<Lane>(lane));
}

// ---- Meeting others -------------------------------------------------------------------------------------------------

/// One of those it meets is no longer missing.
void LaneProcess::met(std::size_t lane, std::size_t& missing, std::int64_t now) {
  LaneFront& state = lanes_[lane];
  if (--missing > 0 || state.state != LaneState::kMeeting) return;
  state.due = now;
  if (world_.next.at(process_) > now) world_.next.set(process_, now);
}

void LaneProcess::await(std::size_t lane) {
  LaneFront& state = lanes_[lane];
  const Slot own = slot(lane);
  state.state = LaneState::kMeeting;
  state.due = kNever;
  state.missing_ready = state.missing_ends = 0;
  for (const Slot other : world_.rendezvous.awaited(own)) {
    Posted& posted = world_.at(state.front.step, other);
    state.missing_ready += posted.ready == kNotYet ? 1 : 0;
    state.missing_ends += posted.end == kNotYet ? 1 : 0;
    if (posted.end == kNotYet) posted.add({process_, lane});
  }
  state.turn = kNotYet;
  if (state.missing_ready == 0) state.due = state.binding.time;
}

void LaneProcess::post(std::size_t lane, bool end, std::int64_t now) {
  Posted& posted = world_.at(lanes_[lane].front.step, slot(lane));
  const FlatOperation& what = front(lane);
  if (end) {
    posted.end = now;
  } else {
    posted.ready = now;
    posted.duration_ns = what.duration_ns;
    posted.load = what.load;
  }
  const auto tell = [&](const LaneAddress& other) {
    LaneProcess& process = *world_.processes[other.process];
    end ? process.ended(other.lane, now) : process.came(other.lane, now);
  };
  if (posted.awaited) tell(posted.first_waiting);
  for (const LaneAddress& other : posted.waiting) tell(other);
}

/// Everyone has come: its own share begins.
void LaneProcess::begin_meeting(std::size_t lane, std::int64_t now) {
  LaneFront& state = lanes_[lane];
  const FlatOperation& what = front(lane);
  const bool receive = what.meeting == Meeting::kReceive;
  const Slot own = slot(lane);
  std::int64_t duration_ns = world_.rendezvous.duration_ns(own);
  LoadId load = what.load;
  for (const Slot other : world_.rendezvous.awaited(own)) {
    const Posted& posted = world_.at(state.front.step, other);
    const bool twin = world_.rendezvous.role(other) == role_;
    state.for_twin = posted.ready > state.turn ? twin : state.for_twin || (twin && posted.ready == state.turn);
    state.turn = std::max(state.turn, posted.ready);
    if (receive) duration_ns = posted.duration_ns;
    if (receive) load = world_.prices.loads.at_receiver[posted.load];
  }
  state.alone = receive ? std::max(now, state.turn + duration_ns) : now + duration_ns;
  begin_share(lane, load, state.alone - now, now);
}

// ---- Ending ---------------------------------------------------------------------------------------------------------

void LaneProcess::fire(std::size_t lane, std::int64_t now) {
  switch (lanes_[lane].state) {
    case LaneState::kIdle:
      break;
    case LaneState::kScheduled:
      return start(lane, now);
    case LaneState::kWorking:
      return end_share(lane, now);
    case LaneState::kMeeting:
      return lanes_[lane].turn == kNotYet ? begin_meeting(lane, now) : complete(lane, now);
  }
}

void LaneProcess::end_share(std::size_t lane, std::int64_t now) {
  LaneFront& state = lanes_[lane];
  if (in_run(lane)) return walk_run(now);
  activities_.stop(static_cast<Lane>(lane));
  const Meeting meeting = front(lane).meeting;
  if (meeting == Meeting::kReceive || meeting == Meeting::kJoint) {
    state.state = LaneState::kMeeting;
    state.due = state.missing_ends == 0 ? now : kNever;
  }
  if (meeting == Meeting::kSend || meeting == Meeting::kJoint) post(lane, true, now);
  if (state.state == LaneState::kWorking) complete(lane, now);
}

void LaneProcess::complete(std::size_t lane, std::int64_t now) {
  const LaneFront& state = lanes_[lane];
  const FlatOperation& what = front(lane);
  const std::int64_t begin = state.binding.time;
  Execution done{begin, std::clamp(state.turn, begin, now), now, what.waiting, what.running, now - state.alone};
  if (what.meeting == Meeting::kJoint && state.for_twin) done.waiting = TimeKind::kStraggler;
  const Cause cause = book(lane, what, done, state.binding.cause);
  if (what.host) {
    host_ = {now, ledger_.add(now, TimeKind::kHost, cause)};
    host_waits_ = false;
    ++host_section_;
  }
  pass(lane, what, {now, cause});
  leave(lane);
}

/// The operation at the front has ended.
void LaneProcess::pass(std::size_t lane, const FlatOperation& what, Moment end) {
  Position& at = lanes_[lane].front;
  free_[lane] = end;
  if (what.named >= 0) end_of(at.step, call(lane).first_end + static_cast<std::uint32_t>(what.named)) = end;
  if (!what.host) ++completed_;
  ++at.place;
}

/// On to what is at the front now.
void LaneProcess::leave(std::size_t lane) {
  lanes_[lane].state = LaneState::kIdle;
  lanes_[lane].due = kNever;
  starts_ = true;
  look_at_front(lane);
}

void LaneProcess::look_at_front(std::size_t lane) {
  LaneFront& state = lanes_[lane];
  Position& at = state.front;
  if (state.call != nullptr && at.place == block(lane).on_lane[lane].size()) {
    at.place = 0;
    if (++at.call == flat_.calls_of[lane].size()) {
      at.call = 0;
      ++at.step;
    }
  }
  state.awaited = nullptr;
  state.operation = nullptr;
  if (at.step == world_.options.steps) return;
  state.call = &flat_.calls[action(lane)];
  const FlatBlock& in = flat_.blocks[state.call->block];
  state.operation = &in.operations[in.on_lane[lane][at.place]];
}

Cause LaneProcess::book(std::size_t lane, const FlatOperation& what, const Execution& execution, Cause binding) {
  const std::int32_t step = lanes_[lane].front.step;
  const Cause cause = ledger_.book(execution, binding, what.on_compute(), counts(step));
  std::int64_t& step_end = seen_.step_end[static_cast<std::size_t>(step)];
  step_end = std::max(step_end, execution.end);
  if (!records_.empty() && counts(step)) {
    const auto offset = static_cast<std::size_t>(&what - block(lane).operations.data());
    strategies::OperationRecord& record = records_[call(lane).first_record + offset];
    record.begin_ns = execution.ready;
    record.end_ns = execution.end;
  }
  return cause;
}

ClassObservation LaneProcess::observation() {
  seen_.spent = ledger_.spent();
  seen_.contention = ledger_.contention();
  return seen_;
}

}  // namespace sim
