#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "sim/block_memo.h"
#include "sim/block_tables.h"
#include "sim/breakdown.h"
#include "sim/rendezvous.h"
#include "sim/step_simulation.h"

namespace sim {
namespace {

using strategies::Lane;
using strategies::OperationId;
using strategies::OperationRecord;

constexpr std::int64_t kNotYet = -1;

/// A time from here on is not known yet: kUnknown + index of the operation that will tell. It is later than every
/// known time, so the latest of several is known only if all are.
constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max() / 2;
bool known(Moment moment) { return moment.time < kUnknown; }

/// What a meeting operation tells the others.
struct Posted {
  std::int64_t ready = kNotYet;  ///< send: start; joint collective: ready
  std::int64_t end = kNotYet;    ///< send: arrival
};

struct World {
  World(const strategies::Program& the_program, const Prices& the_prices, const StepOptions& the_options)
      : program(the_program),
        prices(the_prices),
        options(the_options),
        rendezvous(the_program, the_prices),
        board(rendezvous.slots() * static_cast<std::size_t>(the_options.steps)) {}

  Posted& at(std::int32_t step, Slot slot) { return board[static_cast<std::size_t>(step) * rendezvous.slots() + slot]; }

  const strategies::Program& program;
  const Prices& prices;
  StepOptions options;
  Rendezvous rendezvous;
  std::vector<Posted> board;  ///< by step and slot
};

/// One call of a block.
struct Place {
  std::int32_t step = 0;
  std::uint32_t action = 0;
  std::uint32_t operation = 0;
};

/// Evaluates one class of ranks in program order: start = max(issued, lane free, what it names); all of that lies
/// earlier in program order, except messages and joint collectives. Where one of those is missing the process stops,
/// and others are evaluated first. If all have stopped, they look ahead: operations with unknown prerequisites are put
/// aside.
class Process {
 public:
  Process(World& world, std::uint32_t process)
      : world_(world),
        process_(process),
        role_(world.prices.classes.all[process].role),
        flat_(world.program, process, world.prices, world.rendezvous) {
    memos_.resize(flat_.shapes.size());
    const auto steps = static_cast<std::size_t>(world.options.steps);
    exports_.resize(flat_.exports * steps);
    frame_.host.cause = ledger_.add(0, TimeKind::kHost, kNoCause);
    seen_.step_end.resize(steps);
    seen_.compute_end.resize(steps);
    if (world.options.records) prepare_records();
  }

  /// Goes on as far as possible; true if anything happened that can help this process or another one.
  bool advance(bool look_ahead);
  bool finished() const { return at_end() && aside_.empty(); }
  Place place() const { return at_; }
  std::uint32_t role() const { return role_; }
  ClassObservation observation();
  const std::vector<OperationRecord>& records() const { return records_; }

 private:
  /// An operation put aside until all its prerequisites are known.
  struct Aside {
    Place place;
    std::size_t answer = 0;  ///< index in answers_
    std::vector<Moment> waits_for;
  };

  bool at_end() const { return at_.step == world_.options.steps || flat_.calls.empty(); }
  bool counts(std::int32_t step) const { return step + 1 == world_.options.steps; }
  const FlatCall& call(const Place& place) const { return flat_.calls[place.action]; }
  const FlatOperation& operation(const Place& place) const {
    return flat_.blocks[call(place).block].operations[place.operation];
  }
  Slot slot(const Place& place) const {
    return world_.rendezvous.slot(process_, place.action, call(place).block, place.operation);
  }
  Moment known_by_now(Moment moment) const {
    return known(moment) ? moment : answers_[static_cast<std::size_t>(moment.time - kUnknown)];
  }
  Moment& exported(std::int32_t step, std::uint32_t place) {
    return exports_[static_cast<std::size_t>(step) * flat_.exports + place];
  }

  void prepare_records();
  void enter_call();
  void leave_call();

  // Block by block.
  bool repeat_call();
  bool gather_inputs();
  Moment from(const BlockOutcome::Output& output);
  void apply(const BlockOutcome& outcome);

  // Operation by operation.
  bool evaluate_operation(bool look_ahead, bool& happened);
  Moment binding_now();
  void put_aside();
  bool revisit_aside();
  bool meet(const Place& place, Moment ready, Execution& execution);
  Execution executed(const Place& place, Moment ready);
  Moment book(const Place& place, const Execution& execution, Cause binding);
  void set_end(Moment end);

  World& world_;
  std::uint32_t process_, role_;
  FlatProcess flat_;
  std::vector<BlockMemo> memos_;  ///< by shape
  Place at_;
  bool entered_ = false;  ///< the call at `at_` is evaluated operation by operation
  bool issued_ = false;   ///< the host has issued the operation at `at_`
  Frame frame_;
  std::vector<Moment> needed_;   ///< of the current call
  std::vector<Moment> exports_;  ///< by step and place
  std::vector<Aside> aside_;     ///< in program order
  std::vector<Moment> answers_;
  bool posted_ = false;  ///< something has been told to other processes
  std::int64_t samples_ = 0;
  Ledger ledger_;
  ClassObservation seen_;
  std::vector<OperationRecord> records_;
  Inputs inputs_;
  std::vector<Moment> input_moments_;
};

void Process::prepare_records() {
  const strategies::Rank rank = world_.prices.classes.all[process_].representative;
  for (std::uint32_t action = 0; action < flat_.calls.size(); ++action) {
    const std::size_t operations = flat_.blocks[flat_.calls[action].block].operations.size();
    for (std::uint32_t i = 0; i < operations; ++i) {
      records_.push_back({rank, {world_.options.steps - 1, action, OperationId{i}}, 0, 0});
    }
  }
}

bool Process::advance(bool look_ahead) {
  posted_ = false;
  bool happened = revisit_aside();
  while (!at_end() && !(look_ahead && posted_)) {
    if (!entered_ && aside_.empty() && repeat_call()) {
      happened = true;
      continue;
    }
    const CallShape& shape = flat_.shapes[call(at_).shape];
    if (!entered_ && aside_.empty() && shape.repeatable && !look_ahead) break;  // repeat_call waits for messages
    if (!entered_) enter_call();
    if (flat_.blocks[call(at_).block].operations.size() == at_.operation) {
      leave_call();
      happened = happened || !look_ahead;
    } else if (!evaluate_operation(look_ahead, happened)) {
      break;
    }
  }
  return happened || posted_;
}

void Process::enter_call() {
  entered_ = true;
  frame_.ends.assign(flat_.blocks[call(at_).block].operations.size(), Moment{});
  needed_.clear();
  for (const Needed& needed : call(at_).needed) {
    const std::int32_t step = at_.step - needed.steps_back;
    needed_.push_back(step < 0 ? Moment{kLongAgo, kNoCause} : exported(step, needed.place));
  }
}

void Process::leave_call() {
  entered_ = false;
  at_.operation = 0;
  if (++at_.action < flat_.calls.size()) return;
  at_.action = 0;
  ++at_.step;
}

// ---- Block by block -------------------------------------------------------------------------------------------------

/// Evaluates the whole call at once, if it is repeatable and its messages are there.
bool Process::repeat_call() {
  const CallShape& shape = flat_.shapes[call(at_).shape];
  if (!shape.repeatable || !gather_inputs()) return false;
  apply(memos_[call(at_).shape].outcome(flat_.blocks[shape.block], shape, inputs_, world_.options.records));
  leave_call();
  return true;
}

/// False while a message has not been sent.
bool Process::gather_inputs() {
  const CallShape& shape = flat_.shapes[call(at_).shape];
  const std::int64_t base = ledger_.compute_free();
  inputs_.clear();
  input_moments_.clear();
  const auto add = [&](Moment moment) {
    inputs_.push_back(moment.time - base);
    input_moments_.push_back(moment);
  };
  for (const Lane lane : shape.lanes) add(known_by_now(frame_.lanes[static_cast<std::size_t>(lane)]));
  add(frame_.host);
  for (const Needed& needed : call(at_).needed) {
    const std::int32_t step = at_.step - needed.steps_back;
    add(step < 0 ? Moment{kLongAgo, kNoCause} : known_by_now(exported(step, needed.place)));
  }
  for (const std::uint32_t receive : shape.receives) {
    const Slot send = world_.rendezvous.awaited(slot({at_.step, at_.action, receive})).front();
    const Posted& posted = world_.at(at_.step, send);
    if (posted.end == kNotYet) return false;
    inputs_.push_back(posted.end - base);
    inputs_.push_back(posted.ready - base);
  }
  return true;
}

Moment Process::from(const BlockOutcome::Output& output) {
  if (output.chain.empty() && output.tail >= 0) return input_moments_[static_cast<std::size_t>(output.tail)];
  const std::int64_t base = ledger_.compute_free();
  Cause cause = output.tail >= 0 ? input_moments_[static_cast<std::size_t>(output.tail)].cause : kNoCause;
  for (auto stretch = output.chain.rbegin(); stretch != output.chain.rend(); ++stretch) {
    cause = ledger_.add(base + stretch->begin, stretch->kind, cause);
  }
  return {base + output.time, cause};
}

void Process::apply(const BlockOutcome& outcome) {
  const CallShape& shape = flat_.shapes[call(at_).shape];
  const std::int64_t base = ledger_.compute_free();
  for (std::size_t i = 0; i < shape.lanes.size(); ++i) {
    frame_.lanes[static_cast<std::size_t>(shape.lanes[i])] = from(outcome.lanes[i]);
  }
  for (std::uint32_t i = 0; i < outcome.exports.size(); ++i) {
    exported(at_.step, call(at_).first_export + i) = from(outcome.exports[i]);
  }
  if (outcome.host_runs_through) {
    frame_.host.time += outcome.host.time;
  } else {
    // The host's next stretch begins where its last one ends.
    const Moment end = from(outcome.host);
    frame_.host = {end.time, ledger_.add(end.time, TimeKind::kHost, end.cause)};
  }
  for (const BlockOutcome::Message& send : outcome.sends) {
    world_.at(at_.step, slot({at_.step, at_.action, send.operation})) = {base + send.begin, base + send.end};
    posted_ = true;
  }
  if (counts(at_.step)) {
    Breakdown& spent = ledger_.spent();
    for (std::size_t kind = 0; kind < spent.size(); ++kind) spent[kind] += outcome.spent[kind];
    for (const Deferred& gap : outcome.deferred) {
      ledger_.attribute(base + gap.begin, input_moments_[gap.boundary], spent);
    }
    for (std::size_t i = 0; i < outcome.times.size(); ++i) {
      OperationRecord& record = records_[call(at_).first_record + i];
      record.begin_ns = base + outcome.times[i].begin;
      record.end_ns = base + outcome.times[i].end;
    }
  }
  const auto step = static_cast<std::size_t>(at_.step);
  seen_.step_end[step] = std::max(seen_.step_end[step], base + outcome.last_end);
  seen_.compute_end[step] = std::max(seen_.compute_end[step], base + outcome.last_compute_end);
  ledger_.advance_compute(base + outcome.compute_free);
  frame_.lanes[static_cast<std::size_t>(Lane::kCompute)] = {ledger_.compute_free(), kNoCause};
}

// ---- Operation by operation -----------------------------------------------------------------------------------------

/// False when the operation at `at_` cannot be evaluated yet.
bool Process::evaluate_operation(bool look_ahead, bool& happened) {
  const FlatOperation& what = operation(at_);
  if (!issued_) {
    frame_.host.time += what.issue_ns;
    issued_ = true;
  }
  const Moment ready = binding_now();
  Execution execution;
  if (known(ready) && meet(at_, ready, execution)) {
    set_end(book(at_, execution, ready.cause));
    happened = true;
    return true;
  }
  if (!look_ahead || what.host) return false;  // beyond a host operation nothing is issued
  put_aside();
  return true;
}

Moment Process::binding_now() {
  Binding binding;
  for_each_prerequisite(frame_, flat_.blocks[call(at_).block], flat_.shapes[call(at_).shape], at_.operation, needed_,
                        [&](Moment moment) { binding.offer(known_by_now(moment)); });
  return binding.latest();
}

void Process::put_aside() {
  Aside& aside = aside_.emplace_back();
  aside.place = at_;
  aside.answer = answers_.size();
  for_each_prerequisite(frame_, flat_.blocks[call(at_).block], flat_.shapes[call(at_).shape], at_.operation, needed_,
                        [&](Moment moment) { aside.waits_for.push_back(moment); });
  const Moment unknown{kUnknown + static_cast<std::int64_t>(answers_.size()), kNoCause};
  answers_.push_back(unknown);
  set_end(unknown);
}

/// Evaluates what can be evaluated by now of the operations put aside.
bool Process::revisit_aside() {
  const std::size_t before = aside_.size();
  std::erase_if(aside_, [this](const Aside& aside) {
    Binding binding;
    for (const Moment moment : aside.waits_for) binding.offer(known_by_now(moment));
    Execution execution;
    if (!known(binding.latest()) || !meet(aside.place, binding.latest(), execution)) return false;
    answers_[aside.answer] = book(aside.place, execution, binding.latest().cause);
    return true;
  });
  return aside_.size() < before;
}

/// Works out when an operation that is ready runs; false while others keep it waiting.
bool Process::meet(const Place& place, Moment ready, Execution& execution) {
  const FlatOperation& what = operation(place);
  execution = executed(place, ready);
  if (what.meeting == Meeting::kNone) return true;
  const Slot own = slot(place);
  if (what.meeting != Meeting::kReceive && world_.at(place.step, own).ready == kNotYet) {
    world_.at(place.step, own) = {execution.ready, execution.end};
    posted_ = true;
  }
  if (what.meeting == Meeting::kSend) return true;
  Posted latest;
  bool for_twin = false;
  for (const Slot other : world_.rendezvous.awaited(own)) {
    const Posted& posted = world_.at(place.step, other);
    if (posted.ready == kNotYet) return false;
    const bool twin = world_.rendezvous.role(other) == role_;
    for_twin = posted.ready > latest.ready ? twin : for_twin || (twin && posted.ready == latest.ready);
    latest = {std::max(latest.ready, posted.ready), std::max(latest.end, posted.end)};
  }
  const bool joint = what.meeting == Meeting::kJoint;
  if (joint && for_twin) execution.waiting = TimeKind::kStraggler;
  execution.end = joint ? latest.ready + world_.rendezvous.duration_ns(own) : std::max(ready.time, latest.end);
  execution.turn = std::clamp(latest.ready, ready.time, execution.end);
  return true;
}

Execution Process::executed(const Place& place, Moment ready) {
  const FlatOperation& what = operation(place);
  std::int64_t turn = ready.time;
  if (what.input) {
    samples_ += what.samples;
    turn = std::max(turn, input_ready_ns(world_.prices, samples_));
  }
  return {ready.time, turn, turn + what.duration_ns, what.waiting, what.running};
}

Moment Process::book(const Place& place, const Execution& execution, Cause binding) {
  const FlatOperation& what = operation(place);
  const Cause cause = ledger_.book(execution, binding, what.on_compute(), counts(place.step));
  const auto step = static_cast<std::size_t>(place.step);
  seen_.step_end[step] = std::max(seen_.step_end[step], execution.end);
  if (what.on_compute()) seen_.compute_end[step] = execution.end;
  if (world_.options.records && counts(place.step)) {
    OperationRecord& record = records_[call(place).first_record + place.operation];
    record.begin_ns = execution.ready;
    record.end_ns = execution.end;
  }
  return {execution.end, cause};
}

/// The operation at `at_` ends at `end`, known or not; on to the next one.
void Process::set_end(Moment end) {
  const FlatOperation& what = operation(at_);
  frame_.ends[at_.operation] = end;
  frame_.lanes[static_cast<std::size_t>(what.lane)] = end;
  if (what.exported >= 0) {
    exported(at_.step, call(at_).first_export + static_cast<std::uint32_t>(what.exported)) = end;
  }
  if (what.host) frame_.host = {end.time, ledger_.add(end.time, TimeKind::kHost, end.cause)};
  ++at_.operation;
  issued_ = false;
}

ClassObservation Process::observation() {
  seen_.spent = ledger_.spent();
  // A step without compute ends its window where the step before did.
  for (std::size_t k = 1; k < seen_.compute_end.size(); ++k) {
    seen_.compute_end[k] = std::max(seen_.compute_end[k], seen_.compute_end[k - 1]);
  }
  return seen_;
}

/// Lets every process go as far as it can until all have finished.
void evaluate(const strategies::Program& program, std::vector<Process>& processes) {
  const auto sweep = [&processes](bool look_ahead) {
    bool happened = false;
    for (Process& process : processes) happened |= process.advance(look_ahead);
    return happened;
  };
  const auto finished = [](const Process& process) { return process.finished(); };
  while (!std::ranges::all_of(processes, finished)) {
    if (sweep(false) || sweep(true)) continue;
    const auto stuck = std::ranges::find_if_not(processes, finished);
    throw std::runtime_error("the program hangs: " + program.roles[stuck->role()].name + " at action " +
                             std::to_string(stuck->place().action) + " operation " +
                             std::to_string(stuck->place().operation) + ";");
  }
}

}  // namespace

StepResult simulate_blocks(const strategies::Program& program, const Prices& prices, const StepOptions& options) {
  if (options.steps < 2) throw std::invalid_argument("a steady step needs at least two steps");
  World world(program, prices, options);
  std::vector<Process> processes;
  processes.reserve(prices.classes.size());
  for (std::uint32_t process = 0; process < prices.classes.size(); ++process) processes.emplace_back(world, process);
  evaluate(program, processes);

  std::vector<ClassObservation> observed;
  for (Process& process : processes) observed.push_back(process.observation());
  StepResult result = step_result(prices.classes, observed);
  for (const Process& process : processes) {
    result.records.insert(result.records.end(), process.records().begin(), process.records().end());
  }
  return result;
}

}  // namespace sim
