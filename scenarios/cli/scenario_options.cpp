#include "scenarios/cli/scenario_options.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <sstream>
#include <utility>

#include "scenarios/cli/command_line.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/user_words.h"

namespace scenarios {
namespace {

namespace po = boost::program_options;

constexpr unsigned kHelpColumns = 120;

/// "plan.tensor=4" -> path and value.
Override parse_override(const std::string& text, const std::string& example) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError(fmt::format("error: '--set {}' has no {}\n  write --set {}\n", shortened(text, 100),
                                 equals == 0 ? "key" : "value", example));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<Override> overrides_of(const po::variables_map& given) {
  std::vector<Override> overrides = set_overrides(given, "plan.tensor=4");
  for (const UserWord& word : user_words()) {
    const std::string option(word.word);
    if (given.count(option) > 0) overrides.push_back({option, given[option].as<std::string>()});
  }
  return overrides;
}

}  // namespace

std::vector<Override> set_overrides(const po::variables_map& given, const std::string& example) {
  std::vector<Override> overrides;
  if (given.count("set") == 0) return overrides;
  for (const std::string& text : given["set"].as<std::vector<std::string>>()) {
    overrides.push_back(parse_override(text, example));
  }
  return overrides;
}

po::options_description scenario_options() {
  po::options_description options("options", kHelpColumns);
  auto add = options.add_options();
  add("json", po::bool_switch(), "one JSON object on standard output, nothing else");
  add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"),
      "change a key of the scenario, e.g. --set plan.tensor=4; may be repeated");
  for (const UserWord& word : user_words()) {
    add(std::string(word.word).c_str(), po::value<std::string>()->value_name("VALUE"),
        fmt::format("{} (--set {}=VALUE)", word.summary, word.key).c_str());
  }
  add("catalog", po::value<std::string>()->value_name("DIR"),
      "lay your own files DIR/KIND/NAME.yaml over the catalogue");
  add("quiet,q", po::bool_switch(), "no warnings on standard error");
  add("help,h", po::bool_switch(), "this text");
  return options;
}

ScenarioArguments parse_scenario_arguments(const std::string& verb, const std::vector<std::string>& arguments,
                                           const po::options_description& own) {
  po::options_description all;
  all.add(own).add(scenario_options()).add_options()("scenario", po::value<std::string>());
  po::positional_options_description positions;
  positions.add("scenario", 1);
  po::variables_map given = parse_command_line(verb, arguments, all, positions);
  const bool help = given["help"].as<bool>();
  if (!help && given.count("scenario") == 0) {
    throw InputError(
        fmt::format("error: no scenario given\n  write trainyard {} SCENARIO.yaml ('-' reads standard input)\n", verb));
  }
  std::string file = help ? "" : given["scenario"].as<std::string>();
  const bool json = given["json"].as<bool>();
  const bool quiet = given["quiet"].as<bool>();
  std::vector<Override> overrides = overrides_of(given);
  Catalog catalog(catalog_overlay(given));
  return {std::move(file), json, quiet, help, std::move(given), std::move(overrides), std::move(catalog)};
}

std::string verb_help(const std::string& verb, const std::string& text, const po::options_description& own) {
  std::ostringstream stream;
  stream << "usage: trainyard " << verb << " SCENARIO [options]\n\n" << text << "\n";
  if (!own.options().empty()) stream << own << "\n";
  stream << scenario_options();
  return stream.str();
}

Scenario load(const ScenarioArguments& arguments) {
  Scenario scenario = load_scenario(arguments.file, arguments.catalog, arguments.overrides);
  if (!arguments.json && !arguments.quiet) {
    for (const std::string& warning : scenario.warnings) fmt::print(stderr, "warning: {}\n", warning);
  }
  return scenario;
}

}  // namespace scenarios
