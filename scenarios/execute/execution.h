// What `execute` answers: a scenario's plan trained for real.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "executor/run_collector.h"
#include "executor/supervisor/seat.h"
#include "scenarios/scenario.h"
#include "strategies/program/program.h"

namespace scenarios {

struct ExecutionChoice {
  /// Starts a rank of this run: a program with arguments that finds its seat (executor/supervisor/seat.h) and calls
  /// execute_rank with the same scenario.
  std::vector<std::string> command;
  std::function<void(const executor::StepFigures&)> on_step = {};
};

struct Execution {
  strategies::Program program;  ///< the one `simulate` prices
  std::string fingerprint;
  executor::RunResult result;
  double step_s = 0;            ///< median over the steps, the first left out where there are more
  double tokens_per_s = 0;      ///< at that step time
  bool oversubscribed = false;  ///< more ranks than processors: correct, but times mean nothing
};

/// Not all ranks ended well: which one, why, and in which step.
class RunFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs all steps, one process per rank. Throws InputError for what the backend cannot run and for a corpus that is not
/// there or too short, RunFailure when a rank fails or the run is interrupted; all ranks have ended then.
Execution execute(const Scenario& scenario, const ExecutionChoice& choice);

/// The part of the process in `seat`: trains its rank and reports to the supervisor. Returns the exit code.
int execute_rank(const Scenario& scenario, const executor::Seat& seat, bool records);

std::string execution_json(const Scenario& scenario, const Execution& execution);
std::string execution_text(const Scenario& scenario, const Execution& execution);
/// One line per step.
std::string losses_csv(const Execution& execution);
/// OpRecords: the fingerprint, then one line per operation; nanoseconds from the run's start.
std::string records_csv(const Execution& execution);
/// "step 12/100  loss 3.2145  ..." without a line end
std::string progress_line(const Scenario& scenario, const executor::StepFigures& figures);

}  // namespace scenarios
