// trainyard_fit: fits the catalogue's fitted figures to measured runs and says how well that predicts unseen ones.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/accuracy/measured_run.h"
#include "scenarios/cli/command_line.h"
#include "scenarios/fit/fit_report.h"
#include "scenarios/load/diagnostics.h"

namespace {

namespace po = boost::program_options;

constexpr const char* kHelp =
    "usage: trainyard_fit RUNS.csv [MORE.csv] [options]\n\n"
    "Fits every fitted figure of the catalogue to the measured runs of the tables, all at once, and predicts each "
    "group\n"
    "of runs without having seen it. docs/accuracy.md explains what is printed.\n\n";

int run(const std::vector<std::string>& arguments) {
  po::options_description shown("options", 120);
  shown.add_options()("catalog", po::value<std::string>()->value_name("DIR"),
                      "lay your own files DIR/KIND/NAME.yaml over the catalogue")(
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
    std::ostringstream text;
    text << kHelp << shown;
    fmt::print("{}", text.str());
    return 0;
  }
  if (given.count("runs") == 0) throw scenarios::InputError("error: no table given\n  write trainyard_fit RUNS.csv\n");
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
