#include "strategies/program/interpreter.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>

namespace strategies {
namespace {

/// Conditions an operation still waits for; two values beyond counting tell that it runs or has completed.
using Pending = std::uint32_t;
constexpr Pending kCompleted = std::numeric_limits<Pending>::max();
constexpr Pending kRunning = kCompleted - 1;

/// An operation of the action instance `call` = step x schedule length + action.
struct Reference {
  std::int64_t call = 0;
  std::uint32_t operation = 0;
  auto operator<=>(const Reference&) const = default;
};

/// What the interpreter needs of a block, computed once per role.
struct BlockOrder {
  struct Node {
    std::uint8_t lane = 0;
    bool host = false;
    bool drains = false;  ///< a host operation that waits for everything issued before it, unless it names some
    Pending pending = 0;  ///< issue + `after`
    std::uint32_t first_dependent = 0;  ///< into `dependents`; ends at the next node's
  };
  std::vector<Node> nodes;  ///< one more than operations
  std::vector<std::uint32_t> dependents;
};

bool synchronises(const Operation& operation) {
  const Host* host = std::get_if<Host>(&operation.work);
  return host != nullptr && host->reason != HostReason::kStepOverhead && host->reason != HostReason::kInput;
}

BlockOrder order_of(const Block& block) {
  BlockOrder order;
  order.nodes.resize(block.operations.size() + 1);
  for (std::size_t i = 0; i < block.operations.size(); ++i) {
    const Operation& operation = block.operations[i];
    BlockOrder::Node& node = order.nodes[i];
    node.lane = static_cast<std::uint8_t>(operation.lane);
    node.host = std::holds_alternative<Host>(operation.work);
    node.drains = synchronises(operation) && operation.after.empty();
    node.pending = 1 + static_cast<Pending>(operation.after.size());
    for (const OperationId earlier : operation.after) ++order.nodes[earlier.value + 1].first_dependent;
  }
  for (std::size_t i = 1; i < order.nodes.size(); ++i) {
    order.nodes[i].first_dependent += order.nodes[i - 1].first_dependent;
  }
  order.dependents.resize(order.nodes.back().first_dependent);
  std::vector<std::uint32_t> filled(block.operations.size());
  for (std::uint32_t i = 0; i < block.operations.size(); ++i) {
    for (const OperationId earlier : block.operations[i].after) {
      order.dependents[order.nodes[earlier.value].first_dependent + filled[earlier.value]++] = i;
    }
  }
  return order;
}

/// A CrossDependence seen from the operation waited for.
struct CrossDependent {
  std::uint32_t operation = 0;   ///< of the action waited for
  std::int64_t calls_later = 0;  ///< the dependent's call - this call
  std::uint32_t dependent = 0;
};

}  // namespace

struct RankInterpreter::State {
  State(const Program& program, std::uint32_t role_index, int steps, Backend& the_backend, LaneEngines the_engines)
      : role(program.roles[role_index]), backend(the_backend), engines(the_engines) {
    calls = static_cast<std::int64_t>(role.schedule.size()) * steps;
    for (const Block& block : role.blocks) blocks.push_back(order_of(block));
    const auto length = static_cast<std::int64_t>(role.schedule.size());
    cross.resize(role.schedule.size());
    for (std::size_t action = 0; action < role.schedule.size(); ++action) {
      for (const CrossDependence& d : role.schedule[action].after) {
        const std::int64_t later = d.steps_back * length + static_cast<std::int64_t>(action) - d.action;
        cross[d.action].push_back({d.operation.value, later, d.dependent.value});
      }
    }
    for (auto& dependents : cross) std::ranges::stable_sort(dependents, {}, &CrossDependent::operation);
    for (const std::uint8_t engine : engines) used_engines = std::max<std::size_t>(used_engines, engine + 1U);
    busy.resize(used_engines);
    ready.resize(used_engines);
  }

  struct Call {
    std::int32_t step = 0;
    std::uint32_t action = 0;
    const BlockOrder* order = nullptr;
    std::vector<Pending> pending;
    std::uint32_t left = 0;  ///< operations not completed
  };

  Call& at(std::int64_t call) { return window[static_cast<std::size_t>(call) & (window.size() - 1)]; }
  const BlockOrder::Node& node(Reference r) { return at(r.call).order->nodes[r.operation]; }
  Pending& pending(Reference r) { return at(r.call).pending[r.operation]; }
  OperationInstance instance(Reference r) { return {at(r.call).step, at(r.call).action, {r.operation}}; }
  Reference reference(const OperationInstance& i) const {
    return {i.step * static_cast<std::int64_t>(role.schedule.size()) + i.action, i.operation.value};
  }
  bool has_completed(Reference r) { return r.call < first || pending(r) == kCompleted; }

  void widen();
  void enter_call();
  bool advance_host();
  void meet(Reference r);
  void start_ready();
  void pump();
  void propagate(Reference r);
  void drop_completed_calls();

  const Role& role;
  Backend& backend;
  LaneEngines engines;
  std::vector<BlockOrder> blocks;
  std::vector<std::vector<CrossDependent>> cross;  ///< by action waited for, sorted by operation
  std::int64_t calls = 0;

  /// Calls [first, end): from the oldest incomplete one to the one the host is in; call c lies at c modulo the size, a
  /// power of two. Calls that have left lend their storage to the next.
  std::vector<Call> window = std::vector<Call>(4);
  std::int64_t first = 0, end = 0;

  Reference host;              ///< next operation to issue, or the one being issued
  bool host_occupied = false;  ///< an issue or a host operation is under way
  bool draining = false;       ///< the host operation at `host` waits until nothing is in flight
  std::int64_t in_flight = 0;  ///< issued, not completed, host operations excluded

  std::array<std::deque<Reference>, kLanes> lanes;  ///< entered, not completed, in program order
  std::size_t used_engines = 0;
  std::vector<bool> busy;                     ///< by engine
  std::vector<std::vector<Reference>> ready;  ///< by engine; at most one operation per lane
  bool pumping = false, starting = false;
};

void RankInterpreter::State::widen() {
  std::vector<Call> wider(2 * window.size());
  for (std::int64_t call = first; call < end; ++call) {
    wider[static_cast<std::size_t>(call) & (wider.size() - 1)] = std::move(at(call));
  }
  window = std::move(wider);
}

/// The host enters the next action: its operations line up on their lanes.
void RankInterpreter::State::enter_call() {
  if (end - first == static_cast<std::int64_t>(window.size())) widen();
  const auto length = static_cast<std::int64_t>(role.schedule.size());
  const std::int64_t call = end++;
  Call& entered = at(call);
  entered.step = static_cast<std::int32_t>(call / length);
  entered.action = static_cast<std::uint32_t>(call % length);
  const Action& action = role.schedule[entered.action];
  entered.order = &blocks[action.block];
  entered.left = static_cast<std::uint32_t>(entered.order->nodes.size() - 1);
  entered.pending.resize(entered.left);
  for (std::uint32_t i = 0; i < entered.left; ++i) {
    const BlockOrder::Node& node = entered.order->nodes[i];
    std::deque<Reference>& lane = lanes[node.lane];
    entered.pending[i] = node.pending + (lane.empty() ? 0 : 1);
    lane.push_back({call, i});
  }
  for (const CrossDependence& d : action.after) {
    const Reference earlier{(entered.step - d.steps_back) * length + d.action, d.operation.value};
    // What would lie before the first step counts as completed.
    if (earlier.call >= 0 && !has_completed(earlier)) ++entered.pending[d.dependent.value];
  }
}

/// Lets the host do one thing; false when it is occupied or at the end.
bool RankInterpreter::State::advance_host() {
  if (host_occupied) return false;
  while (host.call < end ? host.operation + 1 == at(host.call).order->nodes.size() : host.call < calls) {
    if (host.call < end) {
      host = {host.call + 1, 0};
      drop_completed_calls();  // an empty block is complete as soon as it has been entered
    } else {
      enter_call();
    }
  }
  if (host.call == calls) return false;
  const BlockOrder::Node& next = node(host);
  host_occupied = true;
  if (!next.host) {
    backend.issue(instance(host));
    return !host_occupied;
  }
  const auto& crossing = role.schedule[at(host.call).action].after;
  const bool names_some =
      std::ranges::any_of(crossing, [this](const CrossDependence& d) { return d.dependent.value == host.operation; });
  draining = next.drains && !names_some && in_flight > 0;
  if (!draining) meet(host);
  return false;
}

/// One condition of `r` is met.
void RankInterpreter::State::meet(Reference r) {
  if (--pending(r) == 0) ready[engines[node(r).lane]].push_back(r);
}

void RankInterpreter::State::start_ready() {
  starting = true;
  for (std::size_t engine = 0; engine < used_engines; ++engine) {
    if (busy[engine] || ready[engine].empty()) continue;
    const auto lowest = std::ranges::min_element(ready[engine]);
    const Reference chosen = *lowest;
    *lowest = ready[engine].back();
    ready[engine].pop_back();
    busy[engine] = true;
    pending(chosen) = kRunning;
    backend.start(instance(chosen));
  }
  starting = false;
}

/// Starts and issues until nothing more can. Calls from inside Backend::issue return at once: the outer one goes on.
void RankInterpreter::State::pump() {
  if (pumping) return;
  pumping = true;
  do {
    start_ready();
  } while (advance_host());
  start_ready();
  pumping = false;
}

void RankInterpreter::State::propagate(Reference r) {
  const BlockOrder& block = *at(r.call).order;
  const BlockOrder::Node* node = &block.nodes[r.operation];
  std::deque<Reference>& lane = lanes[node->lane];
  lane.pop_front();
  if (!lane.empty()) meet(lane.front());
  for (std::uint32_t i = node[0].first_dependent; i < node[1].first_dependent; ++i) {
    meet({r.call, block.dependents[i]});
  }
  const auto& crossing = cross[at(r.call).action];
  if (crossing.empty()) return;
  for (auto d = std::ranges::lower_bound(crossing, r.operation, {}, &CrossDependent::operation);
       d != crossing.end() && d->operation == r.operation; ++d) {
    if (r.call + d->calls_later < end) meet({r.call + d->calls_later, d->dependent});
  }
}

/// The call the host is in stays: all its operations may have completed before the host leaves it.
void RankInterpreter::State::drop_completed_calls() {
  while (first < host.call && at(first).left == 0) ++first;
}

LaneEngines independent_lanes() {
  LaneEngines engines{};
  for (std::size_t lane = 0; lane < engines.size(); ++lane) engines[lane] = static_cast<std::uint8_t>(lane);
  return engines;
}

RankInterpreter::RankInterpreter(const Program& program, std::uint32_t role, int steps, Backend& backend,
                                 LaneEngines engines)
    : state_(std::make_unique<State>(program, role, steps, backend, engines)) {}
RankInterpreter::~RankInterpreter() = default;
RankInterpreter::RankInterpreter(RankInterpreter&&) noexcept = default;

void RankInterpreter::begin() { state_->pump(); }

void RankInterpreter::issued(const OperationInstance& instance) {
  State& state = *state_;
  const Reference r = state.reference(instance);
  if (!state.host_occupied || r != state.host) throw std::logic_error("issued: the host is not issuing this operation");
  state.host_occupied = false;
  ++state.host.operation;
  ++state.in_flight;
  state.meet(r);
  state.pump();
}

void RankInterpreter::completed(const OperationInstance& instance) {
  State& state = *state_;
  const Reference r = state.reference(instance);
  if (state.starting) throw std::logic_error("completed: called from inside Backend::start");
  const bool known = r.call >= state.first && r.call < state.end && r.operation < state.at(r.call).pending.size();
  if (!known || state.pending(r) != kRunning) {
    throw std::logic_error("completed: this operation is not running");
  }
  const BlockOrder::Node& node = state.node(r);
  state.pending(r) = kCompleted;
  state.busy[state.engines[node.lane]] = false;
  state.propagate(r);
  --state.at(r.call).left;
  if (node.host) {
    state.host_occupied = false;
    ++state.host.operation;
  } else if (--state.in_flight == 0 && state.draining) {
    state.draining = false;
    state.meet(state.host);
  }
  state.drop_completed_calls();
  state.pump();
}

bool RankInterpreter::finished() const { return state_->host.call == state_->calls && state_->in_flight == 0; }

std::vector<OperationInstance> RankInterpreter::outstanding() const {
  State& state = *state_;
  std::vector<OperationInstance> result;
  for (std::int64_t call = state.first; call < state.end; ++call) {
    const std::vector<Pending>& pending = state.at(call).pending;
    for (std::uint32_t operation = 0; operation < pending.size(); ++operation) {
      const Reference r{call, operation};
      const bool host_waits = r == state.host && state.host_occupied && state.node(r).host;
      if (pending[operation] != kCompleted && (r < state.host || host_waits)) {
        result.push_back(state.instance(r));
      }
    }
  }
  return result;
}

}  // namespace strategies
