// trainyard_fit: fits the catalogue's fitted figures to measurements and says how well that predicts unseen ones: to a
// sweep of nccl-tests what systems add to NCCL's cost model, to measured runs everything else.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/accuracy/measured_run.h"
#include "scenarios/cli/command_line.h"
#include "scenarios/collectives/sweep.h"
#include "scenarios/fit/correction_fit.h"
#include "scenarios/fit/fit_report.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/load/read_file.h"

namespace {

namespace po = boost::program_options;

constexpr const char* kHelp =
    "usage: trainyard_fit RUNS.csv [MORE.csv] [options]\n"
    "       trainyard_fit --sweep SWEEP.csv [--catalog DIR]\n\n"
    "Fits every fitted figure of the catalogue to the measured runs of the tables, all at once, and predicts each "
    "group\n"
    "of runs without having seen it. With --sweep, fits the corrections of nodes and fabrics to a table of measured\n"
    "collectives and prints them. docs/accuracy.md and docs/nccl.md explain what is printed.\n\n";

int fit_sweep(const std::string& file, const scenarios::Catalog& catalog) {
  const std::string text = scenarios::read_bounded_file(file, scenarios::kLargestTable, "a table");
  const auto rows = scenarios::read_sweep(scenarios::parse_csv(text, file));
  fmt::print("{}", scenarios::fit_text(scenarios::fit_corrections(rows, catalog)));
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  po::options_description shown("options", 120);
  shown.add_options()("catalog", po::value<std::string>()->value_name("DIR"),
                      "lay your own files DIR/KIND/NAME.yaml over the catalogue")(
      "sweep", po::value<std::string>()->value_name("SWEEP.csv"),
      "fit the corrections of nodes and fabrics to measured collectives instead")(
      "without", po::value<std::string>()->value_name("GROUP"), "leave out the runs of a group")(
      "write", po::value<std::string>()->value_name("DIR"), "write the changed catalogue files DIR/KIND/NAME.yaml")(
      "help,h", po::bool_switch(), "this text");
  po::options_description all;
  all.add(shown).add_options()("runs", po::value<std::vector<std::string>>());
  po::positional_options_description positions;
  positions.add("runs", -1);
  po::variables_map given;
  po::store(po::command_line_parser(arguments).options(all).positional(positions).run(), given);
  if (given["help"].as<bool>()) {
    fmt::print("{}", scenarios::help_text(kHelp, shown));
    return 0;
  }
  const bool sweep = given.count("sweep") > 0, runs_given = given.count("runs") > 0;
  if (!sweep && !runs_given) throw scenarios::InputError("error: no table given\n  write trainyard_fit RUNS.csv\n");
  if (sweep && (runs_given || given.count("without") > 0 || given.count("write") > 0)) {
    throw scenarios::InputError("error: --sweep goes with --catalog only\n  fit runs in a call of their own\n");
  }
  if (sweep) return fit_sweep(given["sweep"].as<std::string>(), scenarios::Catalog(scenarios::catalog_overlay(given)));
  std::vector<scenarios::MeasuredRun> runs = scenarios::read_run_files(given["runs"].as<std::vector<std::string>>());
  if (given.count("without") > 0) {
    const std::string group = given["without"].as<std::string>();
    std::erase_if(runs, [&](const scenarios::MeasuredRun& measured) { return measured.group == group; });
  }
  const scenarios::FitProblem problem(std::move(runs), scenarios::Catalog(scenarios::catalog_overlay(given)),
                                      scenarios::fitted_parameters());
  const scenarios::Fit fit = scenarios::fit(problem, [](const std::string& line) { fmt::print(stderr, "{}", line); });
  fmt::print("{}", scenarios::fit_text(problem, fit, scenarios::leave_groups_out(problem, fit)));
  if (given.count("write") > 0) scenarios::write_fitted(given["write"].as<std::string>(), problem, fit);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const po::error& error) {
    fmt::print(stderr, "error: {}\n  see trainyard_fit --help\n", error.what());
    return 2;
  } catch (const scenarios::InputError& error) {
    fmt::print(stderr, "{}", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\n", error.what());
    return 3;
  }
}
