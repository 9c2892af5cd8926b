#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>

#include "sim/breakdown.h"
#include "sim/engine.h"
#include "sim/lane_activities.h"
#include "sim/rendezvous.h"
#include "sim/step_simulation.h"

namespace sim {
namespace {

using strategies::Host;
using strategies::HostReason;
using strategies::Lane;
using strategies::LaneEngines;
using strategies::OperationInstance;
using strategies::OperationRecord;

/// Events are 2 x global operation index, + 1 when they end an operation rather than its issue.
struct Events {
  static EventId issued(std::uint64_t operation) { return 2 * operation; }
  static EventId completed(std::uint64_t operation) { return 2 * operation + 1; }
};

constexpr std::int64_t kNotYet = -1;

/// What a meeting operation tells the others.
struct Posted {
  std::int64_t ready = kNotYet;  ///< send: start; joint collective: ready
  std::int64_t end = kNotYet;    ///< send: arrival; joint collective: end of its own share
  std::int64_t duration_ns = 0;  ///< of a send, alone
  LoadId load = kNoLoad;         ///< of a send
};

class ClassProcess;

/// What all processes share.
struct World {
  World(const strategies::Program& the_program, const Prices& the_prices, int the_steps, const LaneEngines& the_engines)
      : program(the_program),
        prices(the_prices),
        steps(the_steps),
        engines(the_engines),
        rendezvous(the_program, the_prices),
        sharing(the_prices.loads),
        board(rendezvous.slots() * static_cast<std::size_t>(the_steps)),
        waiting(board.size()) {}

  std::size_t at(std::int32_t step, Slot slot) const {
    return static_cast<std::size_t>(step) * rendezvous.slots() + slot;
  }

  const strategies::Program& program;
  const Prices& prices;
  int steps;
  LaneEngines engines;
  Rendezvous rendezvous;
  PortSharing sharing;
  Engine engine;
  std::vector<Posted> board;  ///< by step and slot
  struct Waiting {
    std::uint32_t process = 0;
    OperationInstance instance;
  };
  std::vector<std::vector<Waiting>> waiting;  ///< by step and slot: who waits for that one
  struct Met {
    std::int64_t turn = kNotYet;   ///< when everyone it waits for had come
    std::int64_t alone = kNotYet;  ///< when it would have ended alone
    bool for_twin = false;         ///< the last to come was of the same role
  };
  std::vector<Met> met;  ///< by global operation
  std::vector<ClassProcess*> processes;
};

/// One class of ranks in virtual time: starts what its interpreter says and notes when and why.
class ClassProcess final : public strategies::Backend {
 public:
  ClassProcess(World& world, std::uint32_t process, std::uint64_t first_operation)
      : world_(world),
        process_(process),
        role_(world.prices.classes.all[process].role),
        what_(world.program.roles[role_]),
        first_(first_operation),
        activities_(world.sharing) {
    for (const strategies::Action& action : what_.schedule) {
      offsets_.push_back(operations_);
      operations_ += what_.blocks[action.block].operations.size();
    }
    const std::size_t all = operations_ * static_cast<std::size_t>(world.steps);
    begins_.resize(all, kNotYet);
    ends_.resize(all);
    issues_.resize(all);
    bindings_.resize(all, kNoCause);
    host_.cause = ledger_.add(0, TimeKind::kHost, kNoCause);
    seen_.step_end.resize(static_cast<std::size_t>(world.steps));
    interpreter_ =
        std::make_unique<strategies::RankInterpreter>(world.program, role_, world.steps, *this, world.engines);
  }

  std::uint64_t operations() const { return operations_ * static_cast<std::uint64_t>(world_.steps); }
  std::uint32_t role() const { return role_; }
  void begin() { interpreter_->begin(); }
  const strategies::RankInterpreter& interpreter() const { return *interpreter_; }

  void issue(const OperationInstance& instance) override {
    host_.time += price(instance).issue_ns;
    issues_[index(instance)] = host_;
    world_.engine.at(host_.time, Events::issued(first_ + index(instance)));
  }
  void start(const OperationInstance& instance) override;
  void handle(EventId event);

  ClassObservation observation();
  void append_records(std::vector<OperationRecord>& records) const;

 private:
  const strategies::Block& block(std::uint32_t action) const { return what_.blocks[what_.schedule[action].block]; }
  const strategies::Operation& operation(const OperationInstance& i) const {
    return block(i.action).operations[i.operation.value];
  }
  const OperationPrice& price(const OperationInstance& i) const {
    return world_.prices.at(process_, what_.schedule[i.action].block, i.operation);
  }
  std::size_t index(const OperationInstance& i) const {
    return static_cast<std::size_t>(i.step) * operations_ + offsets_[i.action] + i.operation.value;
  }
  OperationInstance instance(std::size_t index) const;
  Moment binding(const OperationInstance& instance) const;
  Meeting meeting(const OperationInstance& i) const {
    return world_.rendezvous.meeting(role_, what_.schedule[i.action].block, i.operation.value);
  }
  Slot slot(const OperationInstance& i) const {
    return world_.rendezvous.slot(process_, i.action, what_.schedule[i.action].block, i.operation.value);
  }
  void begin_share(const OperationInstance& instance, LoadId load, std::int64_t work_ns);
  void end_share(const OperationInstance& instance);
  void expect_ends();
  void meet(const OperationInstance& instance);
  void tell(const OperationInstance& instance);
  Execution executed(const OperationInstance& instance) const;
  void complete(const OperationInstance& instance);

  World& world_;
  std::uint32_t process_, role_;
  const strategies::Role& what_;
  std::uint64_t first_;               ///< global index of its first operation
  std::size_t operations_ = 0;        ///< of one step
  std::vector<std::size_t> offsets_;  ///< by action: its first operation within a step
  std::unique_ptr<strategies::RankInterpreter> interpreter_;

  std::vector<std::int64_t> begins_;  ///< by operation, all steps
  std::vector<Moment> ends_, issues_;
  std::vector<Cause> bindings_;  ///< why it did not begin earlier
  Moment host_;
  std::array<Moment, strategies::kLanes> lane_free_, engine_free_;
  LaneActivities activities_;
  std::array<OperationInstance, strategies::kLanes> running_;  ///< by lane: what its activity is
  std::int64_t samples_ = 0;
  Ledger ledger_;
  ClassObservation seen_;
};

OperationInstance ClassProcess::instance(std::size_t index) const {
  const std::size_t within = index % operations_;
  // The last action that starts at or before; empty actions share their start with the next one.
  const auto after = std::ranges::upper_bound(offsets_, within);
  const auto action = static_cast<std::uint32_t>(after - offsets_.begin() - 1);
  return {
      static_cast<std::int32_t>(index / operations_), action, {static_cast<std::uint32_t>(within - offsets_[action])}};
}

/// Which prerequisite ended last, from what has been observed.
Moment ClassProcess::binding(const OperationInstance& i) const {
  const strategies::Operation& what = operation(i);
  Binding binding;
  binding.offer(lane_free_[static_cast<std::size_t>(what.lane)]);
  for (const strategies::OperationId earlier : what.after) {
    binding.offer(ends_[index({i.step, i.action, earlier})]);
  }
  for (const strategies::CrossDependence& d : what_.schedule[i.action].after) {
    if (d.dependent != i.operation || i.step < d.steps_back) continue;
    binding.offer(ends_[index({i.step - d.steps_back, d.action, d.operation})]);
  }
  if (std::holds_alternative<Host>(what.work)) {
    // A host operation that drains starts when the last operation issued has ended: on some lane the latest.
    if (binding.latest().time < world_.engine.now() && host_.time < world_.engine.now()) {
      for (const Moment& lane : lane_free_) binding.offer(lane);
    }
    binding.offer(host_);
  } else {
    binding.offer(issues_[index(i)]);
  }
  // Lanes that share an engine also wait for each other.
  if (binding.latest().time < world_.engine.now()) {
    binding.offer(engine_free_[world_.engines[static_cast<std::size_t>(what.lane)]]);
  }
  return binding.latest();
}

void ClassProcess::start(const OperationInstance& i) {
  const std::int64_t now = world_.engine.now();
  const std::size_t at = index(i);
  const Moment bound = binding(i);
  if (bound.time != now) throw std::logic_error("an operation started without a reason");
  begins_[at] = now;
  bindings_[at] = bound.cause;
  const std::int64_t work_ns = price(i).duration_ns;
  if (meeting(i) == Meeting::kSend) {
    world_.board[world_.at(i.step, slot(i))] = {now, kNotYet, work_ns, price(i).load};
  } else if (meeting(i) != Meeting::kNone) {
    if (meeting(i) == Meeting::kJoint) world_.board[world_.at(i.step, slot(i))].ready = now;
    for (const Slot other : world_.rendezvous.awaited(slot(i))) {
      world_.waiting[world_.at(i.step, other)].push_back({process_, i});
    }
    return meeting(i) == Meeting::kJoint ? tell(i) : meet(i);
  }
  World::Met& met = world_.met[first_ + at];
  met = {now, now + work_ns};
  const Host* host = std::get_if<Host>(&operation(i).work);
  if (host != nullptr && host->reason == HostReason::kInput) {
    samples_ += host->samples;
    met.turn = std::max(now, input_ready_ns(world_.prices, samples_));
    met.alone = met.turn + work_ns;
  }
  begin_share(i, price(i).load, met.alone - now);
  tell(i);
}

/// From now on the operation takes its part of ports or multiprocessors.
void ClassProcess::begin_share(const OperationInstance& i, LoadId load, std::int64_t work_ns) {
  const Lane lane = operation(i).lane;
  running_[static_cast<std::size_t>(lane)] = i;
  activities_.start(lane, load, price(i).bound, work_ns, world_.engine.now());
  if (activities_.settle(world_.engine.now())) return expect_ends();
  world_.engine.at(activities_.end(lane), Events::completed(first_ + index(i)));
}

/// Ends may have moved: those expected before are of no account then.
void ClassProcess::expect_ends() {
  for (std::size_t lane = 0; lane < strategies::kLanes; ++lane) {
    if (!activities_.active(static_cast<Lane>(lane))) continue;
    world_.engine.at(activities_.end(static_cast<Lane>(lane)), Events::completed(first_ + index(running_[lane])));
  }
}

/// Its own share of the work is done. Messages and joint collectives may still have to wait for the others' shares.
void ClassProcess::end_share(const OperationInstance& i) {
  activities_.stop(operation(i).lane);
  if (activities_.settle(world_.engine.now())) expect_ends();
  if (meeting(i) == Meeting::kSend || meeting(i) == Meeting::kJoint) {
    world_.board[world_.at(i.step, slot(i))].end = world_.engine.now();
    tell(i);
  }
  if (meeting(i) == Meeting::kReceive) return meet(i);
  if (meeting(i) != Meeting::kJoint) complete(i);
}

/// Tells those who wait for it what is new; the members of a joint collective wait for themselves, too.
void ClassProcess::tell(const OperationInstance& i) {
  if (meeting(i) != Meeting::kSend && meeting(i) != Meeting::kJoint) return;
  for (const World::Waiting& waiting : world_.waiting[world_.at(i.step, slot(i))]) {
    world_.processes[waiting.process]->meet(waiting.instance);
  }
}

/// A receive or joint collective looks whether its share can begin, and later whether everyone's share has ended.
void ClassProcess::meet(const OperationInstance& i) {
  World::Met& met = world_.met[first_ + index(i)];
  const std::int64_t now = world_.engine.now();
  Posted latest;
  bool all_ended = true;
  for (const Slot other : world_.rendezvous.awaited(slot(i))) {
    const Posted& posted = world_.board[world_.at(i.step, other)];
    if (posted.ready == kNotYet) return;
    const bool twin = world_.rendezvous.role(other) == role_;
    met.for_twin = posted.ready > latest.ready ? twin : met.for_twin || (twin && posted.ready == latest.ready);
    latest = {std::max(latest.ready, posted.ready), std::max(latest.end, posted.end), posted.duration_ns, posted.load};
    all_ended = all_ended && posted.end != kNotYet;
  }
  if (met.turn == kNotYet) {
    met.turn = latest.ready;
    const bool receive = meeting(i) == Meeting::kReceive;
    met.alone =
        receive ? std::max(now, latest.ready + latest.duration_ns) : now + world_.rendezvous.duration_ns(slot(i));
    begin_share(i, receive ? world_.prices.loads.at_receiver[latest.load] : price(i).load, met.alone - now);
  } else if (all_ended && !activities_.active(operation(i).lane)) {
    complete(i);
  }
}

Execution ClassProcess::executed(const OperationInstance& i) const {
  const auto& [turn, alone, for_twin] = world_.met[first_ + index(i)];
  const std::int64_t begin = begins_[index(i)], end = world_.engine.now();
  Execution result{begin, std::clamp(turn, begin, end), end, TimeKind::kOther, running_kind(operation(i)), end - alone};
  if (meeting(i) == Meeting::kReceive) result.waiting = TimeKind::kBubble;
  if (meeting(i) == Meeting::kJoint) result.waiting = for_twin ? TimeKind::kStraggler : TimeKind::kImbalance;
  if (result.running == TimeKind::kHost) result.waiting = TimeKind::kDataStall;
  return result;
}

void ClassProcess::complete(const OperationInstance& i) {
  const std::size_t at = index(i);
  const Execution done = executed(i);
  const Lane lane = operation(i).lane;
  const bool on_compute = lane == Lane::kCompute;
  const Cause cause = ledger_.book(done, bindings_[at], on_compute, i.step + 1 == world_.steps);
  ends_[at] = {done.end, cause};
  lane_free_[static_cast<std::size_t>(lane)] = ends_[at];
  engine_free_[world_.engines[static_cast<std::size_t>(lane)]] = ends_[at];
  // From here on the host issues.
  if (std::holds_alternative<Host>(operation(i).work)) {
    host_ = {done.end, ledger_.add(done.end, TimeKind::kHost, cause)};
  }
  const auto step = static_cast<std::size_t>(i.step);
  seen_.step_end[step] = std::max(seen_.step_end[step], done.end);
  interpreter_->completed(i);
}

void ClassProcess::handle(EventId event) {
  const OperationInstance i = instance(static_cast<std::size_t>(event / 2 - first_));
  if (event == Events::issued(first_ + index(i))) {
    interpreter_->issued(i);
    return;
  }
  const Lane lane = operation(i).lane;
  const bool expected = activities_.active(lane) && running_[static_cast<std::size_t>(lane)] == i;
  if (expected && activities_.end(lane) == world_.engine.now()) end_share(i);
}

ClassObservation ClassProcess::observation() {
  seen_.spent = ledger_.spent();
  seen_.contention = ledger_.contention();
  return seen_;
}

void ClassProcess::append_records(std::vector<OperationRecord>& records) const {
  const strategies::Rank rank = world_.prices.classes.all[process_].representative;
  for (std::size_t at = operations_ * static_cast<std::size_t>(world_.steps - 1); at < ends_.size(); ++at) {
    records.push_back({rank, instance(at), begins_[at], ends_[at].time});
  }
}

std::string hanging(const strategies::Program& program, const std::vector<std::unique_ptr<ClassProcess>>& processes) {
  std::string text = "the program hangs:";
  for (const auto& process : processes) {
    if (process->interpreter().finished()) continue;
    const auto outstanding = process->interpreter().outstanding();
    text += " " + program.roles[process->role()].name;
    if (!outstanding.empty()) {
      text += " at action " + std::to_string(outstanding.front().action) + " operation " +
              std::to_string(outstanding.front().operation.value);
    }
    text += ";";
  }
  return text;
}

}  // namespace

StepResult simulate_operations(const strategies::Program& program, const Prices& prices, const StepOptions& options,
                               const LaneEngines& engines) {
  if (options.steps < 2) throw std::invalid_argument("a steady step needs at least two steps");
  World world(program, prices, options.steps, engines);
  std::vector<std::unique_ptr<ClassProcess>> processes;
  std::vector<std::uint64_t> first{0};
  for (std::uint32_t process = 0; process < prices.classes.size(); ++process) {
    processes.push_back(std::make_unique<ClassProcess>(world, process, first.back()));
    first.push_back(first.back() + processes.back()->operations());
    world.processes.push_back(processes.back().get());
  }
  world.met.resize(first.back());
  for (const auto& process : processes) process->begin();
  world.engine.run([&](EventId event) {
    const auto after = std::ranges::upper_bound(first, event / 2);
    processes[static_cast<std::size_t>(after - first.begin() - 1)]->handle(event);
  });
  const bool finished =
      std::ranges::all_of(processes, [](const auto& process) { return process->interpreter().finished(); });
  if (!finished) throw std::runtime_error(hanging(program, processes));

  std::vector<ClassObservation> observed;
  for (const auto& process : processes) observed.push_back(process->observation());
  StepResult result = step_result(prices.classes, observed);
  if (options.records) {
    for (const auto& process : processes) process->append_records(result.records);
  }
  return result;
}

}  // namespace sim
