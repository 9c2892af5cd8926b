#include "scenarios/cli/verb_execute.h"

#include <fmt/format.h>

#include <cstdio>

#include "scenarios/cli/run_seat.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/execute/execution.h"
#include "scenarios/report/write_file.h"

namespace scenarios {
namespace {

namespace po = boost::program_options;

constexpr const char* kHelp =
    "Trains the scenario's plan for real, one process per rank on this machine: the same operations that simulate\n"
    "prices, on real bytes. The section 'execute' of the scenario says how long, on what and with which optimizer.\n"
    "Started by torchrun, srun or mpirun, on one machine or many, every process is one of the ranks.\n"
    "Exit code 1 when a rank fails or replicas end with different weights.\n";

po::options_description own_options() {
  po::options_description own("run");
  auto add = own.add_options();
  add("backend", po::value<std::string>()->value_name("NAME")->default_value("cpu"), "what computes: cpu");
  add("steps", po::value<std::string>()->value_name("N"), "training steps (--set execute.steps=N)");
  add("seed", po::value<std::string>()->value_name("N"), "of weights and samples (--set execute.seed=N)");
  add("csv", po::value<std::string>()->value_name("FILE"), "write loss, gradient norm and time of every step");
  add("records-out", po::value<std::string>()->value_name("FILE"), "write when every operation began and ended");
  return own;
}

void add_overrides(ScenarioArguments& given) {
  for (const char* key : {"steps", "seed"}) {
    if (given.given.count(key) == 0) continue;
    given.overrides.push_back({std::string("execute.") + key, given.given[key].as<std::string>()});
  }
}

void check_outputs(const ScenarioArguments& given) {
  for (const char* option : {"csv", "records-out"}) {
    if (given.given.count(option) > 0) check_writable(given.given[option].as<std::string>());
  }
}

void write_outputs(const ScenarioArguments& given, const Execution& execution) {
  const auto write = [&](const char* option, const std::string& content) {
    if (given.given.count(option) > 0) write_file(given.given[option].as<std::string>(), content);
  };
  write("csv", losses_csv(execution));
  if (given.given.count("records-out") > 0) write("records-out", records_csv(execution));
}

}  // namespace

int run_execute(const std::vector<std::string>& arguments) {
  const po::options_description own = own_options();
  ScenarioArguments given = parse_scenario_arguments("execute", arguments, own);
  if (given.help) {
    fmt::print("{}", verb_help("execute", kHelp, own));
    return 0;
  }
  check_backend(given.given["backend"].as<std::string>());
  add_overrides(given);
  return run_seated("execute", given, [&](JoinedRank* rank) {
    const Scenario scenario = load(given);
    if (answers(rank)) check_outputs(given);
    const bool records = given.given.count("records-out") > 0;
    const auto execution = execute_seated(scenario, "execute", arguments, given.quiet, records, rank);
    if (!execution) return 0;
    write_outputs(given, *execution);
    fmt::print("{}", given.json ? execution_json(scenario, *execution) : execution_text(scenario, *execution));
    return execution->result.replicas_identical ? 0 : 1;
  });
}

}  // namespace scenarios
