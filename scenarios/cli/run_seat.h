// Verbs that train for real. The process that the user starts either starts the ranks, each of them this program again
// with the same arguments and a seat, or is one of the ranks that a launcher (torchrun, srun, mpirun) has started.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/cli/scenario_options.h"
#include "scenarios/execute/execution.h"

namespace scenarios {

/// What the verb does in this process; null: it is none of the ranks.
using Part = std::function<int(JoinedRank* rank)>;

/// Finds this process's seat and runs `part` there; of those that a launcher has started only rank 0 is not quiet.
/// Prints what fails. Throws InputError when the seat is described badly or the scenario comes from standard input.
int run_seated(const std::string& verb, ScenarioArguments& given, const Part& part);

/// Throws InputError when a launcher has started this process: the verb would do the same thing many times.
void refuse_launchers(const std::string& verb);

/// Executes the scenario, with progress shown; every rank that has to be started gets the same command line.
std::optional<Execution> execute_seated(const Scenario& scenario, const std::string& verb,
                                        const std::vector<std::string>& arguments, bool quiet, bool records,
                                        JoinedRank* rank);

/// "cpu" is the one there is. Throws InputError for another.
void check_backend(const std::string& backend);

}  // namespace scenarios
