#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/breakdown.h"
#include "sim/lane_activities.h"
#include "sim/lane_tables.h"
#include "sim/rendezvous.h"
#include "sim/step_simulation.h"
#include "sim/time_index.h"

namespace sim {
namespace {

using strategies::Lane;
using strategies::OperationId;
using strategies::OperationRecord;

constexpr std::int64_t kNotYet = -1;
constexpr std::int64_t kNever = TimeIndex::kNever;
constexpr std::size_t kCompute = static_cast<std::size_t>(Lane::kCompute);
constexpr std::size_t kTensor = static_cast<std::size_t>(Lane::kTensor);
constexpr std::array<std::size_t, 2> kRunLanes{kCompute, kTensor};

/// A lane of a process.
struct LaneAddress {
  std::uint32_t process = 0;
  std::size_t lane = 0;
};

/// What a meeting operation tells the others.
struct Posted {
  std::int64_t ready = kNotYet;  ///< send: start; joint collective: ready
  std::int64_t end = kNotYet;    ///< send: arrival; joint collective: end of its own share
  std::int64_t duration_ns = 0;  ///< of a send, alone
  LoadId load = kNoLoad;         ///< of a send
  std::vector<LaneAddress> waiting;
};

class Process;

struct World {
  World(const strategies::Program& the_program, const Prices& the_prices, const StepOptions& the_options)
      : program(the_program),
        prices(the_prices),
        options(the_options),
        rendezvous(the_program, the_prices),
        sharing(the_prices.loads),
        board(rendezvous.slots() * static_cast<std::size_t>(the_options.steps)) {}

  Posted& at(std::int32_t step, Slot slot) { return board[static_cast<std::size_t>(step) * rendezvous.slots() + slot]; }

  const strategies::Program& program;
  const Prices& prices;
  StepOptions options;
  Rendezvous rendezvous;
  PortSharing sharing;
  std::vector<Posted> board;  ///< by step and slot
  std::vector<Process*> processes;
  TimeIndex next;  ///< by process: when something happens there
};

/// Where a lane stands in program order.
struct Position {
  std::int32_t step = 0;
  std::size_t call = 0;     ///< into FlatProcess::calls_of
  std::uint32_t place = 0;  ///< into FlatBlock::on_lane
};

enum class LaneState : std::uint8_t {
  kIdle,       ///< its next operation waits for others or for the host
  kScheduled,  ///< will start at `due`, when the host has issued it
  kWorking,    ///< its share ends at `due`
  kMeeting     ///< waits for others
};

struct LaneProcess {
  Position front;
  const FlatCall* call = nullptr;            ///< of the operation at the front
  const FlatOperation* operation = nullptr;  ///< at the front; nullptr at the end
  const Moment* awaited = nullptr;           ///< it cannot start before this is known
  LaneState state = LaneState::kIdle;
  std::int64_t due = kNever;
  Moment binding;  ///< when the operation became ready, and why
  std::int64_t turn = 0, alone = 0;
  std::size_t missing_ready = 0, missing_ends = 0;  ///< of those it meets
  bool for_twin = false;                            ///< the last to come was of the same role
};

/// One class of ranks in virtual time: at every time at which something happens to it, it ends what is done, starts
/// what is ready and settles the rates. The compute lane goes run by run (lane_tables.h).
class Process {
 public:
  Process(World& world, std::uint32_t process);

  void begin() { handle(0); }
  void handle(std::int64_t now);
  bool finished() const;
  std::string place() const;
  ClassObservation observation();
  const std::vector<OperationRecord>& records() const { return records_; }

  /// Called by others: someone whom the operation at the front of `lane` meets has come, or has done its share.
  void came(std::size_t lane, std::int64_t now) { met(lane, lanes_[lane].missing_ready, now); }
  void ended(std::size_t lane, std::int64_t now) { met(lane, lanes_[lane].missing_ends, now); }

 private:
  const FlatCall& call(std::size_t lane) const { return *lanes_[lane].call; }
  std::uint32_t action(std::size_t lane) const { return flat_.calls_of[lane][lanes_[lane].front.call]; }
  const FlatBlock& block(std::size_t lane) const { return flat_.blocks[call(lane).block]; }
  std::uint32_t index(std::size_t lane) const { return block(lane).on_lane[lane][lanes_[lane].front.place]; }
  const FlatOperation& front(std::size_t lane) const { return *lanes_[lane].operation; }
  bool at_end(std::size_t lane) const { return lanes_[lane].operation == nullptr; }
  Slot slot(std::size_t lane) const {
    return world_.rendezvous.slot(process_, action(lane), call(lane).block, index(lane));
  }
  Moment& end_of(std::int32_t step, std::uint32_t end) {
    return ends_[static_cast<std::size_t>(step) * flat_.ends + end];
  }
  Moment& section(std::int32_t step, std::uint32_t index) {
    return sections_[static_cast<std::size_t>(step) * flat_.sections + index];
  }
  bool counts(std::int32_t step) const { return step + 1 == world_.options.steps; }

  // The host.
  void advance_host();
  bool host_waits_at(std::size_t lane) const;

  // Starting.
  bool start_ready(std::int64_t now);
  bool try_start(std::size_t lane, std::int64_t now);
  bool offer_prerequisites(std::size_t lane, Binding& binding);
  void start(std::size_t lane, std::int64_t now);
  void begin_share(std::size_t lane, LoadId load, std::int64_t work_ns, std::int64_t now);

  // Meeting others.
  void met(std::size_t lane, std::size_t& missing, std::int64_t now);
  void await(std::size_t lane);
  void begin_meeting(std::size_t lane, std::int64_t now);
  void post(std::size_t lane, bool end, std::int64_t now);

  // Ending.
  void fire(std::size_t lane, std::int64_t now);
  void end_share(std::size_t lane, std::int64_t now);
  void complete(std::size_t lane, std::int64_t now);
  void pass(std::size_t lane, const FlatOperation& what, Moment end);
  void leave(std::size_t lane);
  void look_at_front(std::size_t lane);
  Cause book(std::size_t lane, const FlatOperation& what, const Execution& execution, Cause binding);

  // Runs.
  bool begin_run(std::size_t lane, std::int64_t now);
  std::uint32_t run_length(std::size_t lane) const;
  bool in_run(std::size_t lane) const { return run_.at < run_.leaves[lane]; }
  const FlatOperation& of_run(std::uint32_t offset) const { return run_.block->operations[run_.first + offset]; }
  std::int32_t rate_of(const FlatOperation& what) const {
    return what.kernel ? activities_.kernel_rate(what.bound) : kFullRate;
  }
  void set_run_length(std::uint32_t count);
  void walk_run(std::int64_t now);
  void expect_run();
  void cut_run(std::int64_t now);
  void hand_over(std::int64_t now);
  bool settle(std::int64_t now);

  World& world_;
  std::uint32_t process_, role_;
  FlatProcess flat_;
  std::vector<std::size_t> used_;  ///< lanes
  std::array<LaneProcess, strategies::kLanes> lanes_;
  std::array<Moment, strategies::kLanes> free_;
  LaneActivities activities_;
  bool starts_ = true;         ///< something may be ready to start
  std::vector<Moment> ends_;   ///< by step and named operation
  std::vector<Moment> sections_;  ///< by step and section: the host's time at its start
  struct Run {
    const FlatBlock* block = nullptr;
    std::uint32_t first = 0;  ///< its first operation
    std::uint32_t count = 0, at = 0;
    std::array<std::uint32_t, strategies::kLanes> leaves{};  ///< by lane: how far `at` is when it leaves the lane
    Moment issued;            ///< start of its section
    Progress progress;        ///< of the operation at `at`
    std::int64_t begin = 0;   ///< likewise
    Cause binding = kNoCause;
  } run_;
  Moment host_;
  std::int32_t host_step_ = 0;
  std::uint32_t host_action_ = 0, host_section_ = 0;
  bool host_waits_ = false;  ///< at the host operation that ends its section
  std::int64_t issued_ = 0, completed_ = 0;  ///< operations, host operations excluded
  std::int64_t samples_ = 0;
  Ledger ledger_;
  ClassObservation seen_;
  std::vector<OperationRecord> records_;
};

Process::Process(World& world, std::uint32_t process)
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
  seen_.compute_end.resize(steps);
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
      records_.push_back({rank, {world.options.steps - 1, action, OperationId{i}}, 0, 0});
    }
  }
}

bool Process::finished() const {
  return std::ranges::all_of(used_, [this](std::size_t lane) { return at_end(lane); });
}

/// The lane that is furthest behind in program order.
std::string Process::place() const {
  std::size_t last = used_.front();
  const auto order = [this](std::size_t lane) {
    return std::tuple(lanes_[lane].front.step, at_end(lane) ? 0U : action(lane), at_end(lane) ? 0U : index(lane));
  };
  for (const std::size_t lane : used_) last = order(lane) < order(last) ? lane : last;
  return world_.program.roles[role_].name + " at action " + std::to_string(std::get<1>(order(last))) + " operation " +
         std::to_string(std::get<2>(order(last))) + ";";
}

void Process::handle(std::int64_t now) {
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
void Process::advance_host() {
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

bool Process::host_waits_at(std::size_t lane) const {
  return host_waits_ && lanes_[lane].front.step == host_step_ && action(lane) == host_action_ &&
         front(lane).section == host_section_;
}

// ---- Starting -------------------------------------------------------------------------------------------------------

bool Process::start_ready(std::int64_t now) {
  if (!starts_) return false;
  starts_ = false;
  bool started = false;
  for (const std::size_t lane : used_) {
    const LaneProcess& state = lanes_[lane];
    if (state.state != LaneState::kIdle || state.operation == nullptr) continue;
    if (state.awaited == nullptr || state.awaited->time != kNotYet) started |= try_start(lane, now);
  }
  return started;
}

bool Process::try_start(std::size_t lane, std::int64_t now) {
  Binding binding;
  if (!offer_prerequisites(lane, binding)) return false;
  LaneProcess& state = lanes_[lane];
  state.binding = binding.latest();
  state.state = LaneState::kScheduled;
  state.due = state.binding.time;
  return state.due <= now;
}

/// In the order in which the first of equals binds; false while one of them is not known.
bool Process::offer_prerequisites(std::size_t lane, Binding& binding) {
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

void Process::start(std::size_t lane, std::int64_t now) {
  LaneProcess& state = lanes_[lane];
  const FlatOperation& what = front(lane);
  state.turn = now;
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

void Process::begin_share(std::size_t lane, LoadId load, std::int64_t work_ns, std::int64_t now) {
  activities_.start(static_cast<Lane>(lane), load, front(lane).bound, work_ns, now);
  lanes_[lane].state = LaneState::kWorking;
  lanes_[lane].due = activities_.end(static_cast<Lane>(lane));
}

// ---- Meeting others -------------------------------------------------------------------------------------------------

/// One of those it meets is no longer missing.
void Process::met(std::size_t lane, std::size_t& missing, std::int64_t now) {
  LaneProcess& state = lanes_[lane];
  if (--missing > 0 || state.state != LaneState::kMeeting) return;
  state.due = now;
  if (world_.next.at(process_) > now) world_.next.set(process_, now);
}

void Process::await(std::size_t lane) {
  LaneProcess& state = lanes_[lane];
  const Slot own = slot(lane);
  state.state = LaneState::kMeeting;
  state.due = kNever;
  state.missing_ready = state.missing_ends = 0;
  for (const Slot other : world_.rendezvous.awaited(own)) {
    Posted& posted = world_.at(state.front.step, other);
    state.missing_ready += posted.ready == kNotYet ? 1 : 0;
    state.missing_ends += posted.end == kNotYet ? 1 : 0;
    if (posted.end == kNotYet) posted.waiting.push_back({process_, lane});
  }
  state.turn = kNotYet;
  if (state.missing_ready == 0) state.due = state.binding.time;
}

void Process::post(std::size_t lane, bool end, std::int64_t now) {
  Posted& posted = world_.at(lanes_[lane].front.step, slot(lane));
  const FlatOperation& what = front(lane);
  if (end) {
    posted.end = now;
    for (const LaneAddress& other : posted.waiting) world_.processes[other.process]->ended(other.lane, now);
  } else {
    posted.ready = now;
    posted.duration_ns = what.duration_ns;
    posted.load = what.load;
    for (const LaneAddress& other : posted.waiting) world_.processes[other.process]->came(other.lane, now);
  }
}

/// Everyone has come: its own share begins.
void Process::begin_meeting(std::size_t lane, std::int64_t now) {
  LaneProcess& state = lanes_[lane];
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

void Process::fire(std::size_t lane, std::int64_t now) {
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

void Process::end_share(std::size_t lane, std::int64_t now) {
  LaneProcess& state = lanes_[lane];
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

void Process::complete(std::size_t lane, std::int64_t now) {
  const LaneProcess& state = lanes_[lane];
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
void Process::pass(std::size_t lane, const FlatOperation& what, Moment end) {
  Position& at = lanes_[lane].front;
  free_[lane] = end;
  if (what.named >= 0) end_of(at.step, call(lane).first_end + static_cast<std::uint32_t>(what.named)) = end;
  if (!what.host) ++completed_;
  ++at.place;
}

/// On to what is at the front now.
void Process::leave(std::size_t lane) {
  lanes_[lane].state = LaneState::kIdle;
  lanes_[lane].due = kNever;
  starts_ = true;
  look_at_front(lane);
}

void Process::look_at_front(std::size_t lane) {
  LaneProcess& state = lanes_[lane];
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

Cause Process::book(std::size_t lane, const FlatOperation& what, const Execution& execution, Cause binding) {
  const std::int32_t step = lanes_[lane].front.step;
  const Cause cause = ledger_.book(execution, binding, what.on_compute(), counts(step));
  std::int64_t& step_end = seen_.step_end[static_cast<std::size_t>(step)];
  step_end = std::max(step_end, execution.end);
  if (what.on_compute()) seen_.compute_end[static_cast<std::size_t>(step)] = execution.end;
  if (!records_.empty() && counts(step)) {
    const auto offset = static_cast<std::size_t>(&what - block(lane).operations.data());
    OperationRecord& record = records_[call(lane).first_record + offset];
    record.begin_ns = execution.ready;
    record.end_ns = execution.end;
  }
  return cause;
}

// ---- Runs -----------------------------------------------------------------------------------------------------------

/// False where the operation at the front makes no run.
bool Process::begin_run(std::size_t lane, std::int64_t now) {
  const std::uint32_t count = run_length(lane);
  if (count == 0) return false;
  const LaneProcess& state = lanes_[lane];
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
std::uint32_t Process::run_length(std::size_t lane) const {
  const std::size_t other = lane == kCompute ? kTensor : kCompute;
  const LaneProcess& joining = lanes_[other];
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

void Process::set_run_length(std::uint32_t count) {
  run_.count = count;
  for (const std::size_t lane : kRunLanes) run_.leaves[lane] = 0;
  for (std::uint32_t i = run_.at; i < count; ++i) run_.leaves[static_cast<std::size_t>(of_run(i).lane)] = i + 1;
}

/// Books what of the run has ended by now, at the rates in force so far, and leaves lanes that it no longer needs.
void Process::walk_run(std::int64_t now) {
  std::array<bool, kRunLanes.size()> held{};
  for (std::size_t i = 0; i < held.size(); ++i) held[i] = in_run(kRunLanes[i]);
  while (run_.at < run_.count && run_.progress.end() <= now) {
    const FlatOperation& what = of_run(run_.at);
    const auto lane = static_cast<std::size_t>(what.lane);
    const std::int64_t end = run_.progress.end();
    const std::int64_t lost = end - run_.begin - what.duration_ns;
    const Cause cause =
        book(lane, what, {run_.begin, run_.begin, end, what.waiting, what.running, lost}, run_.binding);
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
void Process::expect_run() {
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
void Process::cut_run(std::int64_t now) {
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
void Process::hand_over(std::int64_t now) {
  LaneProcess& state = lanes_[kTensor];
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
bool Process::settle(std::int64_t now) {
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

ClassObservation Process::observation() {
  seen_.spent = ledger_.spent();
  seen_.contention = ledger_.contention();
  // A step without compute ends its window where the step before did.
  for (std::size_t k = 1; k < seen_.compute_end.size(); ++k) {
    seen_.compute_end[k] = std::max(seen_.compute_end[k], seen_.compute_end[k - 1]);
  }
  return seen_;
}

}  // namespace

StepResult simulate_lanes(const strategies::Program& program, const Prices& prices, const StepOptions& options) {
  if (options.steps < 2) throw std::invalid_argument("a steady step needs at least two steps");
  World world(program, prices, options);
  std::vector<Process> processes;
  processes.reserve(prices.classes.size());  // they stay where they are: lanes point into their tables
  for (std::uint32_t process = 0; process < prices.classes.size(); ++process) {
    world.processes.push_back(&processes.emplace_back(world, process));
  }
  for (Process& process : processes) process.begin();
  while (world.next.earliest() != kNever) processes[world.next.first()].handle(world.next.earliest());
  for (const Process& process : processes) {
    if (!process.finished()) throw std::runtime_error("the program hangs: " + process.place());
  }

  std::vector<ClassObservation> observed;
  for (Process& process : processes) observed.push_back(process.observation());
  StepResult result = step_result(prices.classes, observed);
  for (const Process& process : processes) {
    result.records.insert(result.records.end(), process.records().begin(), process.records().end());
  }
  return result;
}

}  // namespace sim
