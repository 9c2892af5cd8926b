#include "scenarios/cli/verb_memory.h"

#include <fmt/format.h>

#include "scenarios/cli/scenario_options.h"
#include "scenarios/predict/prediction.h"
#include "scenarios/report/prediction_text.h"
#include "strategies/build_program.h"
#include "strategies/program/fingerprint.h"

namespace scenarios {
namespace {

constexpr const char* kHelp =
    "Prints what every pipeline stage holds at its peak: weights, gradients, optimizer state, activations, the rest, "
    "and\n"
    "what the allocator and the driver add. Exit code 1 when the plan does not fit.\n";

}  // namespace

int run_memory(const std::vector<std::string>& arguments) {
  const boost::program_options::options_description own("output");
  const ScenarioArguments given = parse_scenario_arguments("memory", arguments, own);
  if (given.help) {
    fmt::print("{}", verb_help("memory", kHelp, own));
    return 0;
  }
  const Scenario scenario = load(given);
  const strategies::Program program =
      strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
  const MemoryPrediction memory = predict_memory(scenario, program);
  fmt::print("{}", given.json ? memory_json(scenario, memory, strategies::fingerprint(program))
                              : memory_text(scenario, memory));
  return memory.fits ? 0 : 1;
}

}  // namespace scenarios
