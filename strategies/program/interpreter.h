// The RankInterpreter: the only code that decides what may start when (rules in program.h). The simulator drives one
// per role in virtual time, the executor one per process in real time; a Backend acts.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "strategies/program/program.h"

namespace strategies {

/// One execution of one operation. Program order = (step, action, operation).
struct OperationInstance {
  std::int32_t step = 0;
  std::uint32_t action = 0;
  OperationId operation;
  auto operator<=>(const OperationInstance&) const = default;
};

/// Lanes with the same number share an engine: only one of their operations runs at a time, lowest program order
/// first. Default: every lane has its own engine (a GPU). The CPU backend has one engine for all.
using LaneEngines = std::array<std::uint8_t, kLanes>;
LaneEngines independent_lanes();

class Backend {
 public:
  virtual ~Backend() = default;
  /// The host starts issuing `instance`. Report with RankInterpreter::issued, possibly from inside this call.
  virtual void issue(const OperationInstance& instance) = 0;
  /// `instance` starts. Report with RankInterpreter::completed, never from inside this call.
  virtual void start(const OperationInstance& instance) = 0;
};

/// Interprets `steps` consecutive steps of one role. Host operations occupy the host: nothing is issued until they
/// complete; they wait for the operations they name. A loss read, gradient norm or blocking send that names none waits
/// for everything issued before it. Everything else is issued and then runs on its lane.
class RankInterpreter {
 public:
  RankInterpreter(const Program& program, std::uint32_t role, int steps, Backend& backend,
                  LaneEngines engines = independent_lanes());
  ~RankInterpreter();
  RankInterpreter(RankInterpreter&&) noexcept;

  void begin();
  void issued(const OperationInstance& instance);
  void completed(const OperationInstance& instance);
  bool finished() const;
  /// Issued but not completed, in program order: who hangs, for diagnostics.
  std::vector<OperationInstance> outstanding() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What happened, in virtual or in real time; nanoseconds from the start.
struct OperationRecord {
  Rank rank;
  OperationInstance instance;
  std::int64_t begin_ns = 0, end_ns = 0;
};

}  // namespace strategies
