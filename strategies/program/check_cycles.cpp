#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "strategies/program/check_parts.h"
#include "strategies/program/connections.h"

namespace strategies {
namespace {

/// A node per operation of every role in two steps (a dependence reaches back at most into the step before, and what
/// holds between two steps holds between any); collectives that meet share a node. Folded by role: a role whose groups
/// meet several other roles makes all of them wait for each other, as the folded simulation does.
class Waits {
 public:
  explicit Waits(const Program& program)
      : program_(program),
        operations_(program),
        meetings_(program, operations_),
        deliveries_(deliveries(program, operations_)) {
    std::uint32_t nodes = 0;
    for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
      first_.push_back(nodes);
      nodes += kSteps * operations_.count(role);
    }
    meeting_node_.assign(kSteps * meetings_.roles.size(), kNone);
    node_of_.resize(nodes);
    for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
      for (std::uint32_t step = 0; step < kSteps; ++step) {
        for (std::uint32_t flat = 0; flat < operations_.count(role); ++flat) join(role, step, flat);
      }
    }
  }

  /// The operations of one cycle in the order in which they wait; empty = there is none.
  std::vector<std::uint32_t> cycle() const {
    std::vector<std::uint32_t> waiting = incoming();
    const std::vector<std::uint32_t> start = starts();
    const std::vector<std::uint32_t> targets = sorted_targets(start);
    std::vector<std::uint32_t> free;
    for (std::uint32_t node = 0; node < waiting.size(); ++node) {
      if (waiting[node] == 0) free.push_back(node);
    }
    while (!free.empty()) {
      const std::uint32_t node = free.back();
      free.pop_back();
      for (std::uint32_t i = start[node]; i < start[node + 1]; ++i) {
        if (--waiting[targets[i]] == 0) free.push_back(targets[i]);
      }
    }
    return walk_back(waiting);
  }

  std::string place(std::uint32_t node) const {
    const auto after = std::ranges::upper_bound(first_, node);
    const auto role = static_cast<std::uint32_t>(after - first_.begin() - 1);
    const auto [action, operation] = operations_.at(role, (node - first_[role]) % operations_.count(role));
    return place_in_action(program_, role, action, operation);
  }

 private:
  static constexpr std::uint32_t kSteps = 2;
  static constexpr std::uint32_t kNone = Meetings::kNone;

  std::uint32_t own(std::uint32_t role, std::uint32_t step, std::uint32_t flat) const {
    return first_[role] + step * operations_.count(role) + flat;
  }
  std::uint32_t node(std::uint32_t role, std::uint32_t step, std::uint32_t flat) const {
    return node_of_[own(role, step, flat)];
  }
  void join(std::uint32_t role, std::uint32_t step, std::uint32_t flat) {
    const std::uint32_t mine = own(role, step, flat), meeting = meetings_.of[role][flat];
    node_of_[mine] = mine;
    if (meeting == kNone) return;
    std::uint32_t& shared = meeting_node_[kSteps * meeting + step];
    if (shared == kNone) shared = mine;
    node_of_[mine] = shared;
  }

  /// Calls visit(earlier node, later node) for everything that waits.
  template <class Visit>
  void for_each_edge(Visit visit) const {
    for (std::uint32_t role = 0; role < program_.roles.size(); ++role) {
      std::array<std::uint32_t, kLanes> tail;
      tail.fill(kNone);
      for (std::uint32_t step = 0; step < kSteps; ++step) edges_of_step(role, step, tail, visit);
    }
    for (const Delivery& d : deliveries_) {
      for (std::uint32_t step = 0; step < kSteps; ++step) {
        visit(node(d.sender, step, d.send), node(d.receiver, step, d.receive));
      }
    }
  }

  template <class Visit>
  void edges_of_step(std::uint32_t role, std::uint32_t step, std::array<std::uint32_t, kLanes>& tail,
                     Visit& visit) const {
    const Role& owner = program_.roles[role];
    for (std::uint32_t action = 0; action < owner.schedule.size(); ++action) {
      const std::vector<Operation>& block = owner.blocks[owner.schedule[action].block].operations;
      for (std::uint32_t i = 0; i < block.size(); ++i) {
        const std::uint32_t later = node(role, step, operations_.flat(role, action, i));
        std::uint32_t& before = tail[static_cast<std::size_t>(block[i].lane)];
        if (before != kNone) visit(before, later);
        before = later;
        for (const OperationId earlier : block[i].after) {
          visit(node(role, step, operations_.flat(role, action, earlier.value)), later);
        }
      }
      for (const CrossDependence& d : owner.schedule[action].after) {
        if (d.steps_back > static_cast<int>(step)) continue;
        visit(node(role, step - static_cast<std::uint32_t>(d.steps_back),
                   operations_.flat(role, d.action, d.operation.value)),
              node(role, step, operations_.flat(role, action, d.dependent.value)));
      }
    }
  }

  std::vector<std::uint32_t> incoming() const {
    std::vector<std::uint32_t> count(node_of_.size());
    for_each_edge([&](std::uint32_t, std::uint32_t later) { ++count[later]; });
    return count;
  }
  /// Where each node's targets begin in sorted_targets(); one more than nodes.
  std::vector<std::uint32_t> starts() const {
    std::vector<std::uint32_t> start(node_of_.size() + 1);
    for_each_edge([&](std::uint32_t earlier, std::uint32_t) { ++start[earlier + 1]; });
    for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
    return start;
  }
  std::vector<std::uint32_t> sorted_targets(std::vector<std::uint32_t> next) const {
    std::vector<std::uint32_t> targets(next.back());
    for_each_edge([&](std::uint32_t earlier, std::uint32_t later) { targets[next[earlier]++] = later; });
    return targets;
  }

  /// Every node that still waits has a predecessor that waits; following those must come round.
  std::vector<std::uint32_t> walk_back(const std::vector<std::uint32_t>& waiting) const {
    const auto stuck = std::ranges::find_if(waiting, [](std::uint32_t count) { return count > 0; });
    if (stuck == waiting.end()) return {};
    std::vector<std::uint32_t> before(waiting.size(), kNone);
    for_each_edge([&](std::uint32_t earlier, std::uint32_t later) {
      if (waiting[earlier] > 0 && before[later] == kNone) before[later] = earlier;
    });
    std::vector<std::uint32_t> path;
    std::vector<bool> visited(waiting.size());
    auto current = static_cast<std::uint32_t>(stuck - waiting.begin());
    for (; !visited[current]; current = before[current]) {
      visited[current] = true;
      path.push_back(current);
    }
    path.erase(path.begin(), std::ranges::find(path, current));
    return path;
  }

  const Program& program_;
  StepOperations operations_;
  Meetings meetings_;
  std::vector<Delivery> deliveries_;
  std::vector<std::uint32_t> first_;         ///< own node of the role's first operation
  std::vector<std::uint32_t> meeting_node_;  ///< [meeting x steps + step]
  std::vector<std::uint32_t> node_of_;       ///< own node -> shared node
};

}  // namespace

void check_cycles(const Program& program, std::vector<std::string>& defects) {
  const Waits waits(program);
  const std::vector<std::uint32_t> cycle = waits.cycle();
  if (cycle.empty()) return;
  std::string sentence = "operations wait for each other: " + waits.place(cycle.front());
  for (std::size_t i = 1; i < cycle.size(); ++i) sentence += " waits for " + waits.place(cycle[i]);
  defects.push_back(sentence + " waits for the first");
}

}  // namespace strategies
