#include "scenarios/cli/verb_calibrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/program_options.hpp>
#include <cstdio>

#include "executor/calibration/calibration.h"
#include "scenarios/catalog.h"
#include "scenarios/cli/command_line.h"
#include "scenarios/report/machine_yaml.h"
#include "scenarios/report/write_file.h"
#include "strategies/build_program.h"

namespace scenarios {
namespace {

namespace po = boost::program_options;

constexpr const char* kHelp =
    "usage: trainyard calibrate [options]\n\n"
    "Measures this machine: every kernel of the CPU backend over sizes, with one core at work and with all of them,\n"
    "and messages and collectives between processes. Writes a node for `cluster: {node: machine.yaml}`. Takes up to\n"
    "three minutes; leave the machine alone meanwhile. Exit code 1 when it was too busy or too unsteady: the file is\n"
    "written and says so.\n\n";

// The last round ends within a few seconds of it: three minutes and half a minute altogether.
constexpr double kMostSeconds = 150, kQuickSeconds = 22;

po::options_description shown_options() {
  po::options_description options("options", 120);
  options.add_options()("quick", po::bool_switch(), "small sizes only, less than half a minute")(
      "out", po::value<std::string>()->value_name("FILE")->default_value("machine.yaml"), "where to write the node")(
      "quiet", po::bool_switch(), "no progress, no report")("help,h", po::bool_switch(), "this text");
  return options;
}

constexpr std::int64_t kSmallSequence = 8;

strategies::Program small_program() {
  const Catalog catalog;
  strategies::ModelSpec model = *catalog.model("tiny-cpu");
  model.hidden = 16, model.heads = model.kv_heads = 2, model.head_dim = 8, model.ffn = 32;
  const strategies::TrainingSpec training{.sequence_length = kSmallSequence,
                                          .global_batch = 8,
                                          .precision = hw_models::DType::kFp32,
                                          .input_samples_per_s = {}};
  return strategies::build_program(model, training, {}, catalog.software("trainyard-cpu")->implementation);
}

/// One line that is written over, on terminals only.
void show_progress(double share) {
  fmt::print(stderr, "\rmeasuring {:3.0f} %{}", 100 * share, share < 1 ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace

int run_calibrate(const std::vector<std::string>& arguments) {
  const po::options_description shown = shown_options();
  const po::variables_map given = parse_command_line("calibrate", arguments, shown, {});
  if (given["help"].as<bool>()) {
    fmt::print("{}", help_text(kHelp, shown));
    return 0;
  }
  const auto path = given["out"].as<std::string>();
  const bool quick = given["quick"].as<bool>(), quiet = given["quiet"].as<bool>();
  check_writable(path);
  const strategies::Program small = small_program();
  executor::CalibrationChoice choice{.quick = quick,
                                     .most_seconds = quick ? kQuickSeconds : kMostSeconds,
                                     .small_program = &small,
                                     .small_sequence = kSmallSequence};
  if (!quiet && ::isatty(STDERR_FILENO) != 0) choice.progress = show_progress;
  const executor::Calibration calibration = executor::calibrate(choice);
  write_file(path, machine_yaml(calibration));
  if (!quiet) fmt::print("{}written to {}\n", calibration_text(calibration), path);
  if (!is_noisy(calibration)) return 0;
  fmt::print(stderr, "warning: the machine was too busy or too unsteady: predictions from {} are rough\n", path);
  return 1;
}

}  // namespace scenarios
