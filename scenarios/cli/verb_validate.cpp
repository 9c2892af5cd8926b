#include "scenarios/cli/verb_validate.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>

#include "scenarios/cli/run_seat.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/report/write_file.h"
#include "scenarios/validate/records_file.h"
#include "scenarios/validate/validation.h"

namespace scenarios {
namespace {

namespace po = boost::program_options;

constexpr const char* kHelp =
    "Predicts a training step of the scenario, runs it for real and compares: operation kind by operation kind, lane\n"
    "by lane, step and peak memory. Two steps warm up, the others are measured. With --records the run has been made\n"
    "elsewhere. Exit code 1 when the predicted step is beyond the tolerance or replicas end with different weights.\n";

po::options_description own_options() {
  po::options_description own("run");
  auto add = own.add_options();
  add("backend", po::value<std::string>()->value_name("NAME")->default_value("cpu"), "what computes: cpu");
  add("steps", po::value<int>()->value_name("N")->default_value(kFewestSteps), "measured steps, 10 at least");
  add("tolerance", po::value<double>()->value_name("X")->default_value(kDefaultTolerance, "0.15"),
      "largest error of the step that is a yes, over the measured step");
  add("records", po::value<std::string>()->value_name("FILE"),
      "compare with what execute --records-out wrote, instead of running");
  add("trace", po::value<std::string>()->value_name("FILE"),
      "write both timelines, one below the other (open it in ui.perfetto.dev)");
  return own;
}

/// --steps is checked and laid over the scenario, with the steps that warm up.
void add_steps(ScenarioArguments& given) {
  const int steps = given.given["steps"].as<int>();
  if (steps < kFewestSteps || steps > 1'000'000) {
    throw InputError(fmt::format("error: --steps {}: a median needs {} to 1000000 steps\n", steps, kFewestSteps));
  }
  given.overrides.push_back({"execute.steps", std::to_string(steps + kWarmUpSteps)});
}

double tolerance_of(const ScenarioArguments& given) {
  const double tolerance = given.given["tolerance"].as<double>();
  if (tolerance > 0 && tolerance <= 10) return tolerance;
  throw InputError(
      fmt::format("error: --tolerance {:g} must be above 0 and at most 10\n  0.15 stands for 15 %\n", tolerance));
}

std::optional<Validation> run_and_compare(const Scenario& scenario, const ScenarioArguments& given,
                                          const std::vector<std::string>& arguments, double tolerance,
                                          JoinedRank* rank) {
  std::optional<Prediction> prediction;
  if (answers(rank)) prediction = predict_ranks(scenario);
  const auto execution = execute_seated(scenario, "validate", arguments, given.quiet, true, rank);
  if (!execution) return std::nullopt;
  if (execution->fingerprint != prediction->fingerprint) {
    throw std::logic_error("the program that ran is not the one predicted");
  }
  return validate(std::move(*prediction), *execution, tolerance);
}

Validation read_and_compare(const Scenario& scenario, const std::string& file, double tolerance) {
  Prediction prediction = predict_ranks(scenario);
  const auto records = read_records(file, prediction.program);
  return validate(std::move(prediction), records, tolerance);
}

/// Returns the exit code.
int tell(const Scenario& scenario, const ScenarioArguments& given, const Validation& validation) {
  if (given.given.count("trace") > 0) {
    const auto path = given.given["trace"].as<std::string>();
    write_file(path, validation_trace(validation));
    if (!given.quiet) fmt::print(stderr, "timelines written to {}\n", path);
  }
  fmt::print("{}", given.json ? validation_json(scenario, validation) : validation_text(validation));
  return validation.agrees() ? 0 : 1;
}

}  // namespace

int run_validate(const std::vector<std::string>& arguments) {
  const po::options_description own = own_options();
  ScenarioArguments given = parse_scenario_arguments("validate", arguments, own);
  if (given.help) {
    fmt::print("{}", verb_help("validate", kHelp, own));
    return 0;
  }
  check_backend(given.given["backend"].as<std::string>());
  const double tolerance = tolerance_of(given);
  add_steps(given);
  const auto check_outputs = [&] {
    if (given.given.count("trace") > 0) check_writable(given.given["trace"].as<std::string>());
  };
  if (given.given.count("records") > 0) {
    refuse_launchers("validate --records");
    const Scenario scenario = load(given);
    check_outputs();
    return tell(scenario, given, read_and_compare(scenario, given.given["records"].as<std::string>(), tolerance));
  }
  return run_seated("validate", given, [&](JoinedRank* rank) {
    const Scenario scenario = load(given);
    if (answers(rank)) check_outputs();
    const auto validation = run_and_compare(scenario, given, arguments, tolerance, rank);
    return validation ? tell(scenario, given, *validation) : 0;
  });
}

}  // namespace scenarios
