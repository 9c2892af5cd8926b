// Verbs that start their own ranks: each rank is this program again, with the same arguments and a seat.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/supervisor/seat.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/execute/execution.h"

namespace scenarios {

/// This process's seat in a run that the verb's supervisor has started. Throws InputError when another launcher has.
std::optional<executor::Seat> find_seat(const std::string& verb);

/// The same command line: every rank reads the scenario for itself. Throws InputError for standard input.
std::vector<std::string> rank_command(const std::string& verb, const ScenarioArguments& given,
                                      const std::vector<std::string>& arguments);

/// One line on standard error that is written over, on a terminal only.
class Progress {
 public:
  /// Keeps the scenario's address.
  Progress(const Scenario& scenario, bool shown);
  void show(const executor::StepFigures& figures) const;
  void clear() const;

 private:
  const Scenario& scenario_;
  bool shown_;
};

/// "cpu" is the one there is. Throws InputError for another.
void check_backend(const std::string& backend);

}  // namespace scenarios
