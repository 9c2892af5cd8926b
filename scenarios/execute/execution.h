// What `execute` answers: a scenario's plan trained for real.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "executor/run_collector.h"
#include "scenarios/execute/joined_rank.h"
#include "scenarios/scenario.h"
#include "strategies/program/program.h"

namespace scenarios {

struct ExecutionChoice {
  /// Starts a rank of this run: a program with arguments that finds its seat (executor/supervisor/seat.h), takes part
  /// and executes the same scenario as that rank.
  std::vector<std::string> command;
  JoinedRank* rank = nullptr;  ///< this process is one of the ranks; otherwise it starts and watches them
  bool records = false;        ///< of a rank: report every operation
  std::function<void(const executor::StepFigures&)> on_step = {};
};

struct Execution {
  strategies::Program program;  ///< the one `simulate` prices
  std::string fingerprint;
  executor::RunResult result;
  double step_s = 0;            ///< median over the steps, the first left out where there are more
  double tokens_per_s = 0;      ///< at that step time
  bool oversubscribed = false;  ///< more ranks than processors on a machine: correct, but times mean nothing
};

/// Not all ranks ended well: which one, why, and in which step.
class RunFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs all steps, one process per rank. None for a rank that doesn't answer. Throws InputError for what the backend
/// cannot run, for a corpus that is not there or too short and for as many ranks as the plan has not.
///   starting the ranks: RunFailure when one fails or the run is interrupted; all have ended then
///   as one of them: CommunicationError when another fails, other exceptions when this one does
std::optional<Execution> execute(const Scenario& scenario, const ExecutionChoice& choice);

std::string execution_json(const Scenario& scenario, const Execution& execution);
std::string execution_text(const Scenario& scenario, const Execution& execution);
/// One line per step.
std::string losses_csv(const Execution& execution);
/// OpRecords: the fingerprint, then one line per operation; nanoseconds from the run's start.
std::string records_csv(const Execution& execution);
/// "step 12/100  loss 3.2145  ..." without a line end
std::string progress_line(const Scenario& scenario, const executor::StepFigures& figures);

}  // namespace scenarios
