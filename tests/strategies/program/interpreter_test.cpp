#include "strategies/program/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/programs/handmade.h"

namespace strategies {
namespace {

Operation on(Lane lane, std::vector<OperationId> after = {}) {
  Operation operation;
  operation.work = Compute{hw_models::Measured{1}};
  operation.lane = lane;
  operation.after = std::move(after);
  return operation;
}

Operation host(HostReason reason, std::vector<OperationId> after = {}) {
  Operation operation = on(Lane::kHost, std::move(after));
  operation.work = Host{reason, 0};
  return operation;
}

/// One role; every block is called once per step, in order.
Program program_of(std::vector<std::vector<Operation>> blocks) {
  Program program;
  program.role_of_rank = {0};
  Role role;
  for (auto& operations : blocks) {
    Block block;
    block.operations = std::move(operations);
    role.schedule.push_back({static_cast<std::uint32_t>(role.blocks.size()), 0, {}});
    role.blocks.push_back(std::move(block));
  }
  program.roles = {role};
  return program;
}

std::string text(const OperationInstance& i) {
  return std::to_string(i.step) + "." + std::to_string(i.action) + "." + std::to_string(i.operation.value);
}

/// Completes nothing by itself. Issues at once, or when told.
class Recorder : public Backend {
 public:
  Recorder(const Program& program, int steps, bool issue_at_once = true, LaneEngines engines = independent_lanes())
      : at_once_(issue_at_once), interpreter(program, 0, steps, *this, engines) {}

  void issue(const OperationInstance& instance) override {
    issuing = {instance};
    if (at_once_) issued();
  }
  void start(const OperationInstance& instance) override { running.insert(instance); }

  void issued() {
    const OperationInstance instance = issuing.at(0);
    issuing.clear();
    interpreter.issued(instance);
  }
  /// By value: callers name an element of `running`, which this erases.
  void complete(OperationInstance instance) {
    ASSERT_EQ(running.erase(instance), 1U) << text(instance) << " is not running";
    interpreter.completed(instance);
  }
  /// "step.action.operation" of what runs.
  std::string now() const {
    std::string all;
    for (const OperationInstance& instance : running) all += (all.empty() ? "" : " ") + text(instance);
    return all;
  }

 private:
  bool at_once_;

 public:
  std::vector<OperationInstance> issuing;  ///< one or none
  std::set<OperationInstance> running;
  RankInterpreter interpreter;
};

TEST(RankInterpreter, LanesAreInOrderAndConcurrent) {
  const Program program =
      program_of({{on(Lane::kCompute), on(Lane::kTensor), on(Lane::kCompute)}, {on(Lane::kTensor)}});
  Recorder run(program, 1);
  run.interpreter.begin();
  EXPECT_EQ(run.now(), "0.0.0 0.0.1");
  run.complete({0, 0, {1}});
  EXPECT_EQ(run.now(), "0.0.0 0.1.0");
  run.complete({0, 0, {0}});
  EXPECT_EQ(run.now(), "0.0.2 0.1.0");
  run.complete({0, 1, {0}});
  EXPECT_FALSE(run.interpreter.finished());
  run.complete({0, 0, {2}});
  EXPECT_TRUE(run.interpreter.finished());
  EXPECT_TRUE(run.interpreter.outstanding().empty());
}

TEST(RankInterpreter, WaitsForNamedOperations) {
  const Program program =
      program_of({{on(Lane::kCompute), on(Lane::kTensor), on(Lane::kData, {{0}, {1}}), on(Lane::kGather)}});
  Recorder run(program, 1);
  run.interpreter.begin();
  EXPECT_EQ(run.now(), "0.0.0 0.0.1 0.0.3");
  run.complete({0, 0, {0}});
  EXPECT_EQ(run.now(), "0.0.1 0.0.3");
  run.complete({0, 0, {1}});
  EXPECT_EQ(run.now(), "0.0.2 0.0.3");
}

TEST(RankInterpreter, NothingStartsBeforeItIsIssued) {
  const Program program = program_of({{on(Lane::kCompute), on(Lane::kTensor)}});
  Recorder run(program, 1, false);
  run.interpreter.begin();
  EXPECT_EQ(run.now(), "");
  run.issued();
  EXPECT_EQ(run.now(), "0.0.0");
  run.complete({0, 0, {0}});
  EXPECT_EQ(run.now(), "");
  run.issued();
  EXPECT_EQ(run.now(), "0.0.1");
}

TEST(RankInterpreter, ASynchronisationThatNamesNothingDrains) {
  for (const HostReason reason : {HostReason::kLossRead, HostReason::kGradientNorm, HostReason::kBlockingSend,
                                  HostReason::kBlockingReceive, HostReason::kBlockingLaunch}) {
    const Program program = program_of({{on(Lane::kCompute), on(Lane::kTensor), host(reason), on(Lane::kData)}});
    Recorder run(program, 1);
    run.interpreter.begin();
    EXPECT_EQ(run.now(), "0.0.0 0.0.1");
    run.complete({0, 0, {1}});
    EXPECT_EQ(run.now(), "0.0.0");
    run.complete({0, 0, {0}});
    EXPECT_EQ(run.now(), "0.0.2");
    run.complete({0, 0, {2}});
    EXPECT_EQ(run.now(), "0.0.3");
  }
}

TEST(RankInterpreter, ASynchronisationWaitsOnlyForWhatItNames) {
  const Program program =
      program_of({{on(Lane::kCompute), on(Lane::kTensor), host(HostReason::kLossRead, {{1}}), on(Lane::kData)}});
  Recorder run(program, 1);
  run.interpreter.begin();
  run.complete({0, 0, {1}});
  EXPECT_EQ(run.now(), "0.0.0 0.0.2");
  run.complete({0, 0, {2}});
  EXPECT_EQ(run.now(), "0.0.0 0.0.3");
}

TEST(RankInterpreter, ASynchronisationMayNameAnEarlierAction) {
  Program program =
      program_of({{on(Lane::kCompute), on(Lane::kTensor)}, {host(HostReason::kLossRead), on(Lane::kData)}});
  program.roles[0].schedule[1].after = {{0, 0, {1}, {0}}};
  Recorder run(program, 1);
  run.interpreter.begin();
  EXPECT_EQ(run.now(), "0.0.0 0.0.1");
  run.complete({0, 0, {1}});
  EXPECT_EQ(run.now(), "0.0.0 0.1.0");
}

TEST(RankInterpreter, HostTimeDoesNotDrain) {
  for (const HostReason reason : {HostReason::kStepOverhead, HostReason::kInput}) {
    const Program program = program_of({{on(Lane::kCompute), host(reason), on(Lane::kTensor)}});
    Recorder run(program, 1);
    run.interpreter.begin();
    EXPECT_EQ(run.now(), "0.0.0 0.0.1");
    run.complete({0, 0, {1}});
    EXPECT_EQ(run.now(), "0.0.0 0.0.2");
  }
}

TEST(RankInterpreter, DependencesBetweenActions) {
  Program program = program_of({{on(Lane::kGather)}, {on(Lane::kTensor)}, {on(Lane::kCompute)}});
  program.roles[0].schedule[2].after = {{0, 0, {0}, {0}}};
  Recorder run(program, 1);
  run.interpreter.begin();
  EXPECT_EQ(run.now(), "0.0.0 0.1.0");
  run.complete({0, 0, {0}});
  EXPECT_EQ(run.now(), "0.1.0 0.2.0");
}

TEST(RankInterpreter, DependencesOnTheStepBefore) {
  Program program = program_of({{on(Lane::kCompute)}, {on(Lane::kGather)}});
  program.roles[0].schedule[0].after = {{1, 1, {0}, {0}}};
  Recorder run(program, 2);
  run.interpreter.begin();
  EXPECT_EQ(run.now(), "0.0.0 0.1.0") << "nothing lies before the first step";
  run.complete({0, 0, {0}});
  EXPECT_EQ(run.now(), "0.1.0");
  run.complete({0, 1, {0}});
  EXPECT_EQ(run.now(), "1.0.0 1.1.0");
}

TEST(RankInterpreter, OnASharedEngineTheLowestProgramOrderWins) {
  const Program program = program_of(
      {{on(Lane::kCompute), on(Lane::kTensor, {{0}}), on(Lane::kData), on(Lane::kGather), on(Lane::kCompute)}});
  Recorder run(program, 1, true, LaneEngines{});
  run.interpreter.begin();
  std::string order;
  while (!run.running.empty()) {
    order += run.now() + " ";
    run.complete(*run.running.begin());
  }
  EXPECT_EQ(order, "0.0.0 0.0.1 0.0.2 0.0.3 0.0.4 ");
}

TEST(RankInterpreter, OutstandingIsWhatHangs) {
  const Program program =
      program_of({{on(Lane::kCompute), on(Lane::kTensor, {{0}})}, {on(Lane::kData), host(HostReason::kLossRead)}});
  Recorder run(program, 1);
  run.interpreter.begin();
  run.complete({0, 1, {0}});
  std::string all;
  for (const OperationInstance& instance : run.interpreter.outstanding()) all += text(instance) + " ";
  EXPECT_EQ(all, "0.0.0 0.0.1 0.1.1 ");
}

TEST(RankInterpreter, EmptyBlocksAndSchedules) {
  const Program empty = program_of({});
  Recorder nothing(empty, 3);
  nothing.interpreter.begin();
  EXPECT_TRUE(nothing.interpreter.finished());

  const Program gaps = program_of({{}, {on(Lane::kCompute)}, {}});
  Recorder run(gaps, 2);
  run.interpreter.begin();
  run.complete({0, 1, {0}});
  EXPECT_EQ(run.now(), "1.1.0");
  run.complete({1, 1, {0}});
  EXPECT_TRUE(run.interpreter.finished());
}

TEST(RankInterpreter, IssuingFromInsideIssueDoesNotRecurse) {
  const Program program = program_of({std::vector<Operation>(200'000, on(Lane::kCompute))});
  Recorder run(program, 2);
  run.interpreter.begin();
  EXPECT_EQ(run.interpreter.outstanding().size(), 400'000U);
}

TEST(RankInterpreter, CanBeMoved) {
  const Program program = program_of({{on(Lane::kCompute)}});
  Recorder run(program, 1, false);
  RankInterpreter moved = std::move(run.interpreter);
  moved.begin();
  moved.issued(run.issuing.at(0));
  EXPECT_EQ(run.now(), "0.0.0");
}

TEST(RankInterpreter, RefusesImpossibleReports) {
  const Program program = program_of({{on(Lane::kCompute), on(Lane::kCompute)}});
  Recorder run(program, 1, false);
  run.interpreter.begin();
  EXPECT_THROW(run.interpreter.issued({0, 0, {1}}), std::logic_error);
  EXPECT_THROW(run.interpreter.completed({0, 0, {0}}), std::logic_error) << "not started";
  EXPECT_THROW(run.interpreter.completed({7, 0, {0}}), std::logic_error) << "not entered";
  EXPECT_THROW(run.interpreter.completed({0, 0, {9}}), std::logic_error) << "no such operation";
  run.issued();
  run.complete({0, 0, {0}});
  EXPECT_THROW(run.interpreter.completed({0, 0, {0}}), std::logic_error) << "completed twice";
}

TEST(RankInterpreter, RefusesCompletionFromInsideStart) {
  struct Hasty : Backend {
    RankInterpreter* interpreter = nullptr;
    void issue(const OperationInstance& instance) override { interpreter->issued(instance); }
    void start(const OperationInstance& instance) override {
      EXPECT_THROW(interpreter->completed(instance), std::logic_error);
    }
  } hasty;
  const Program program = program_of({{on(Lane::kCompute)}});
  RankInterpreter interpreter(program, 0, 1, hasty);
  hasty.interpreter = &interpreter;
  interpreter.begin();
  EXPECT_EQ(interpreter.outstanding().size(), 1U);
}

// ---- Against the rules, read literally ------------------------------------------------------------------------------

/// The rules of program.h and interpreter.h by brute force over all operations of all steps.
class Rules {
 public:
  Rules(const Program& program, int steps, const LaneEngines& engines) : role_(program.roles[0]), engines_(engines) {
    for (int step = 0; step < steps; ++step) {
      for (std::uint32_t action = 0; action < role_.schedule.size(); ++action) {
        const auto& block = role_.blocks[role_.schedule[action].block].operations;
        for (std::uint32_t i = 0; i < block.size(); ++i) all_.push_back({{step, action, {i}}, &block[i]});
      }
    }
    settle();
  }

  void issued() { all_[next_++].issued = true, settle(); }
  void completed(const OperationInstance& instance) {
    Entry& entry = *std::ranges::find(all_, instance, &Entry::instance);
    entry.done = true;
    running.erase(instance);
    if (is_host(entry)) ++next_;
    settle();
  }
  /// What the host is issuing: one or none.
  std::vector<OperationInstance> issuing() const {
    if (next_ == all_.size() || is_host(all_[next_])) return {};
    return {all_[next_].instance};
  }
  bool finished() const { return std::ranges::all_of(all_, &Entry::done); }

  std::set<OperationInstance> running;

 private:
  struct Entry {
    OperationInstance instance;
    const Operation* operation = nullptr;
    bool issued = false, done = false;
  };

  static bool is_host(const Entry& entry) { return std::holds_alternative<Host>(entry.operation->work); }
  std::uint8_t engine(const Entry& entry) const { return engines_[static_cast<std::size_t>(entry.operation->lane)]; }
  bool done(const OperationInstance& instance) const {
    return std::ranges::find(all_, instance, &Entry::instance)->done;
  }

  bool ready(std::size_t index) const {
    const Entry& entry = all_[index];
    if (entry.done || running.contains(entry.instance)) return false;
    if (is_host(entry) ? index != next_ : !entry.issued) return false;
    bool names_some = !entry.operation->after.empty();
    for (const OperationId earlier : entry.operation->after) {
      if (!done({entry.instance.step, entry.instance.action, earlier})) return false;
    }
    for (const CrossDependence& d : role_.schedule[entry.instance.action].after) {
      if (d.dependent != entry.instance.operation) continue;
      names_some = true;
      const int step = entry.instance.step - d.steps_back;
      if (step >= 0 && !done({step, d.action, d.operation})) return false;
    }
    const Host* host = std::get_if<Host>(&entry.operation->work);
    const bool drains = host != nullptr && !names_some && host->reason != HostReason::kStepOverhead &&
                        host->reason != HostReason::kInput;
    return std::all_of(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(index), [&](const Entry& earlier) {
      return earlier.done || (!drains && earlier.operation->lane != entry.operation->lane);
    });
  }

  /// Every free engine takes its first ready operation.
  void settle() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const bool busy = std::ranges::any_of(all_, [&](const Entry& other) {
        return running.contains(other.instance) && engine(other) == engine(all_[i]);
      });
      if (!busy && ready(i)) running.insert(all_[i].instance);
    }
  }

  const Role& role_;
  LaneEngines engines_;
  std::vector<Entry> all_;
  std::size_t next_ = 0;  ///< what the host issues or does
};

Program random_role(std::mt19937_64& random) {
  const auto below = [&](std::size_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  std::vector<std::vector<Operation>> blocks(1 + below(4));
  for (auto& block : blocks) {
    for (std::uint32_t i = 0, count = below(6); i < count; ++i) {
      std::vector<OperationId> after;
      while (i > 0 && below(3) == 0) after.push_back({below(i)});
      const bool of_host = below(6) == 0;
      block.push_back(of_host ? host(static_cast<HostReason>(below(5)), after)
                              : on(static_cast<Lane>(1 + below(5)), after));
    }
  }
  Program program = program_of(blocks);
  auto& schedule = program.roles[0].schedule;
  for (std::uint32_t extra = below(4); extra > 0; --extra) schedule.push_back({below(blocks.size()), 0, {}});
  const auto size = [&](std::uint32_t action) { return blocks[schedule[action].block].size(); };
  for (std::uint32_t tries = below(8); tries > 0; --tries) {
    const std::uint32_t dependent = below(schedule.size()), action = below(schedule.size());
    const int steps_back = static_cast<int>(below(3));
    if ((steps_back == 0 && action >= dependent) || size(action) == 0 || size(dependent) == 0) continue;
    schedule[dependent].after.push_back({steps_back, action, {below(size(action))}, {below(size(dependent))}});
  }
  return program;
}

TEST(RankInterpreter, FollowsTheRulesWhateverTheTimes) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = random_role(random);
    LaneEngines engines = independent_lanes();
    if (seed % 3 == 1) engines = {};
    if (seed % 3 == 2) {
      for (std::uint8_t& engine : engines) engine = static_cast<std::uint8_t>(random() % 3);
    }
    const int steps = 1 + static_cast<int>(random() % 3);
    Recorder run(program, steps, false, engines);
    Rules rules(program, steps, engines);
    run.interpreter.begin();
    while (true) {
      ASSERT_EQ(run.running, rules.running) << "seed " << seed;
      ASSERT_EQ(run.issuing, rules.issuing()) << "seed " << seed;
      const std::size_t events = run.running.size() + run.issuing.size();
      if (events == 0) break;
      const std::size_t choice = random() % events;
      if (choice == run.running.size()) {
        rules.issued();
        run.issued();
      } else {
        const OperationInstance instance = *std::next(run.running.begin(), static_cast<std::ptrdiff_t>(choice));
        rules.completed(instance);
        run.complete(instance);
      }
    }
    EXPECT_TRUE(rules.finished()) << "seed " << seed;
    EXPECT_TRUE(run.interpreter.finished()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace strategies
