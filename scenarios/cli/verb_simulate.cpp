#include "scenarios/cli/verb_simulate.h"

#include <fmt/format.h>

#include <cstdio>
#include <span>

#include "scenarios/cli/scenario_options.h"
#include "scenarios/predict/prediction.h"
#include "scenarios/report/prediction_text.h"
#include "scenarios/report/trace.h"
#include "scenarios/report/write_file.h"

namespace scenarios {
namespace {

constexpr const char* kHelp =
    "Predicts one training step of the scenario's plan and the whole run: time, throughput, MFU, where the time goes,\n"
    "memory of every stage, days, cost and energy. Exit code 1 when the plan does not fit the GPU's memory.\n";

}  // namespace

int run_simulate(const std::vector<std::string>& arguments) {
  namespace po = boost::program_options;
  po::options_description own("output");
  own.add_options()("trace", po::value<std::string>()->value_name("FILE"),
                    "write a timeline of one step (open it in ui.perfetto.dev)")(
      "unfolded", po::bool_switch(), "simulate every rank by itself: slower, and the same where ranks are alike");
  const ScenarioArguments given = parse_scenario_arguments("simulate", arguments, own);
  if (given.help) {
    fmt::print("{}", verb_help("simulate", kHelp, own));
    return 0;
  }
  const Scenario scenario = load(given);
  const bool trace = given.given.count("trace") > 0;
  const Prediction prediction = predict(scenario, {.records = trace, .unfolded = given.given["unfolded"].as<bool>()});
  if (!given.json && !given.quiet) {  // load() has printed the scenario's
    for (const std::string& warning : std::span(prediction.warnings).subspan(scenario.warnings.size())) {
      fmt::print(stderr, "warning: {}\n", warning);
    }
  }
  if (trace) {
    const std::string path = given.given["trace"].as<std::string>();
    write_file(path, trace_json(prediction));
    if (!given.quiet) fmt::print(stderr, "timeline written to {}\n", path);
  }
  fmt::print("{}", given.json ? prediction_json(prediction) : prediction_text(scenario, prediction));
  return prediction.memory.fits ? 0 : 1;
}

}  // namespace scenarios
