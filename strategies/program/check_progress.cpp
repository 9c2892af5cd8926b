#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "strategies/program/check_parts.h"
#include "strategies/program/connections.h"
#include "strategies/program/interpreter.h"

namespace strategies {
namespace {

constexpr int kSteps = 2;

class DryRun;

/// Issues at once and hands what starts to the dry run.
class DryBackend : public Backend {
 public:
  DryBackend(DryRun& run, std::uint32_t role) : run_(run), role_(role) {}
  void connect(RankInterpreter& interpreter) { interpreter_ = &interpreter; }
  void issue(const OperationInstance& instance) override { interpreter_->issued(instance); }
  void start(const OperationInstance& instance) override;

 private:
  DryRun& run_;
  std::uint32_t role_;
  RankInterpreter* interpreter_ = nullptr;
};

/// All roles at once, without time: what has started completes as soon as what it needs from others is there.
class DryRun {
 public:
  explicit DryRun(const Program& program)
      : program_(program),
        operations_(program),
        meetings_(program, operations_),
        deliveries_(deliveries(program, operations_)),
        arrived_(kSteps * meetings_.roles.size()) {
    backends_.reserve(program.roles.size());  // interpreters keep references
    for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
      backends_.emplace_back(*this, role);
      interpreters_.emplace_back(program, role, kSteps, backends_[role]);
      expected_.emplace_back(operations_.count(role));
    }
    for (std::uint32_t role = 0; role < program.roles.size(); ++role) backends_[role].connect(interpreters_[role]);
    for (const Delivery& d : deliveries_) ++expected_[d.receiver][d.receive];
    for (int step = 0; step < kSteps; ++step) {
      missing_.push_back(expected_);
      started_.emplace_back();
      for (const auto& of_role : expected_) started_.back().emplace_back(of_role.size());
    }
  }

  /// One sentence per role that does not finish.
  std::vector<std::string> run() {
    for (RankInterpreter& interpreter : interpreters_) interpreter.begin();
    while (!completed_.empty()) {
      const auto [role, instance] = completed_.back();
      completed_.pop_back();
      interpreters_[role].completed(instance);
    }
    std::vector<std::string> hanging;
    for (std::uint32_t role = 0; role < program_.roles.size(); ++role) {
      if (!interpreters_[role].finished()) hanging.push_back(described(role));
    }
    return hanging;
  }

  void start(std::uint32_t role, const OperationInstance& instance) {
    const std::uint32_t flat = operations_.flat(role, instance.action, instance.operation.value);
    const Role& owner = program_.roles[role];
    const Work& work = owner.blocks[owner.schedule[instance.action].block].operations[instance.operation.value].work;
    if (std::holds_alternative<Receive>(work)) {
      receive(role, instance, flat);
    } else if (std::holds_alternative<Collective>(work)) {
      meet(role, instance, meetings_.of[role][flat]);
    } else {
      if (std::holds_alternative<Send>(work)) deliver(role, instance, flat);
      completed_.push_back({role, instance});
    }
  }

 private:
  struct Running {
    std::uint32_t role = 0;
    OperationInstance instance;
  };

  void receive(std::uint32_t role, const OperationInstance& instance, std::uint32_t flat) {
    const auto step = static_cast<std::size_t>(instance.step);
    started_[step][role][flat] = 1;
    // What nobody sends never arrives.
    if (expected_[role][flat] > 0 && missing_[step][role][flat] == 0) completed_.push_back({role, instance});
  }

  void deliver(std::uint32_t role, const OperationInstance& instance, std::uint32_t flat) {
    const auto step = static_cast<std::size_t>(instance.step);
    for (auto d = std::ranges::lower_bound(deliveries_, Delivery{role, flat, 0, 0});
         d != deliveries_.end() && d->sender == role && d->send == flat; ++d) {
      if (--missing_[step][d->receiver][d->receive] > 0 || started_[step][d->receiver][d->receive] == 0) continue;
      const auto [action, operation] = operations_.at(d->receiver, d->receive);
      completed_.push_back({d->receiver, {instance.step, action, {operation}}});
    }
  }

  void meet(std::uint32_t role, const OperationInstance& instance, std::uint32_t meeting) {
    std::vector<Running>& present = arrived_[kSteps * meeting + static_cast<std::size_t>(instance.step)];
    present.push_back({role, instance});
    if (present.size() < meetings_.roles[meeting]) return;
    completed_.insert(completed_.end(), present.begin(), present.end());
  }

  std::string described(std::uint32_t role) const {
    const std::vector<OperationInstance> waiting = interpreters_[role].outstanding();
    if (waiting.empty())
      return fmt::format("an untimed run stops: {} has nothing to wait for", place_of_role(program_, role));
    const OperationInstance& first = waiting.front();
    return fmt::format("an untimed run stops: in step {}, {} does not complete", first.step,
                       place_in_action(program_, role, first.action, first.operation.value));
  }

  const Program& program_;
  StepOperations operations_;
  Meetings meetings_;
  std::vector<Delivery> deliveries_;
  std::vector<DryBackend> backends_;
  std::vector<RankInterpreter> interpreters_;
  std::vector<Running> completed_;                                ///< to be reported to the interpreters
  std::vector<std::vector<std::uint32_t>> expected_;              ///< [role][flat] sends a receive waits for
  std::vector<std::vector<std::vector<std::uint32_t>>> missing_;  ///< [step][role][flat] of these not sent yet
  std::vector<std::vector<std::vector<char>>> started_;           ///< [step][role][flat] of receives
  std::vector<std::vector<Running>> arrived_;                     ///< [meeting x steps + step]
};

void DryBackend::start(const OperationInstance& instance) { run_.start(role_, instance); }

}  // namespace

void check_progress(const Program& program, std::vector<std::string>& defects) {
  for (std::string& sentence : DryRun(program).run()) defects.push_back(std::move(sentence));
}

}  // namespace strategies
