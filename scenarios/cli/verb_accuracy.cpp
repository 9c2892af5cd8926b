#include "scenarios/cli/verb_accuracy.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <utility>

#include "scenarios/accuracy/accuracy_report.h"
#include "scenarios/accuracy/memory_report.h"
#include "scenarios/cli/command_line.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/report/write_file.h"

namespace scenarios {
namespace {

namespace po = boost::program_options;

constexpr const char* kHelp =
    "usage: trainyard accuracy RUNS.csv [MORE.csv] [options]\n\n"
    "Predicts every measured run of the tables and scores the predictions: error = ln(predicted / measured). Runs "
    "that\n"
    "this version cannot predict are counted by reason. docs/accuracy.md lists the columns and defines the "
    "figures.\n\n";

po::options_description shown_options() {
  po::options_description options("options", 120);
  options.add_options()("memory", po::bool_switch(), "score memory and the verdicts fit or out of memory, not time")(
      "json", po::bool_switch(), "one JSON object on standard output, nothing else")(
      "per-row", po::value<std::string>()->value_name("OUT.csv"), "write one line per run")(
      "report", po::value<std::string>()->value_name("FILE.html"), "write a scatter plot")(
      "catalog", po::value<std::string>()->value_name("DIR"),
      "lay your own files DIR/KIND/NAME.yaml over the catalogue")("help,h", po::bool_switch(), "this text");
  return options;
}

po::variables_map parse(const std::vector<std::string>& arguments, const po::options_description& shown) {
  po::options_description all;
  all.add(shown).add_options()("runs", po::value<std::vector<std::string>>());
  po::positional_options_description positions;
  positions.add("runs", -1);
  return parse_command_line("accuracy", arguments, all, positions);
}

/// Tables of memory (`outcome` filled) repeat steps of others and hold steps too unsteady to score: given together, the
/// tables without outcomes are scored for time and those with for memory. A single kind serves both.
std::vector<MeasuredRun> rows_for(bool memory, const std::vector<MeasuredRun>& runs) {
  std::vector<MeasuredRun> chosen;
  for (const MeasuredRun& run : runs) {
    if (run.outcome.empty() != memory) chosen.push_back(run);
  }
  return chosen.empty() ? runs : chosen;
}

void score_memory(const po::variables_map& given, const std::vector<MeasuredRun>& runs, const Catalog& catalog) {
  if (given.count("report") > 0) {
    throw InputError("error: --report draws step times\n  leave out --report or --memory\n");
  }
  const MemoryAccuracy report = evaluate_memory(rows_for(true, runs), catalog);
  if (given.count("per-row") > 0) write_file(given["per-row"].as<std::string>(), memory_accuracy_csv(report));
  fmt::print("{}", given["json"].as<bool>() ? memory_accuracy_json(report) : memory_accuracy_text(report));
}

void score_time(const po::variables_map& given, const std::vector<MeasuredRun>& runs, const Catalog& catalog) {
  const AccuracyReport report = evaluate(rows_for(false, runs), catalog);
  if (given.count("per-row") > 0) write_file(given["per-row"].as<std::string>(), accuracy_csv(report));
  if (given.count("report") > 0) write_file(given["report"].as<std::string>(), accuracy_html(report));
  if (given["json"].as<bool>()) {
    fmt::print("{}", accuracy_json(report, evaluate_memory(rows_for(true, runs), catalog)));
    return;
  }
  fmt::print("{}", accuracy_text(report));
  if (report.runs.size() < runs.size()) {
    fmt::print("\n{}", memory_accuracy_text(evaluate_memory(rows_for(true, runs), catalog)));
  }
}

}  // namespace

int run_accuracy(const std::vector<std::string>& arguments) {
  const po::options_description shown = shown_options();
  const po::variables_map given = parse(arguments, shown);
  if (given["help"].as<bool>()) {
    fmt::print("{}", help_text(kHelp, shown));
    return 0;
  }
  if (given.count("runs") == 0) {
    throw InputError("error: no table given\n  write trainyard accuracy RUNS.csv ('-' reads standard input)\n");
  }
  const Catalog catalog(catalog_overlay(given));
  const bool memory = given["memory"].as<bool>();
  (memory ? score_memory : score_time)(given, read_run_files(given["runs"].as<std::vector<std::string>>()), catalog);
  return 0;
}

}  // namespace scenarios
