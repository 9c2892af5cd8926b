// What every verb that takes a scenario accepts on the command line.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "scenarios/catalog.h"
#include "scenarios/scenario.h"

namespace scenarios {

/// The options shown by --help: --json, --set, --catalog, --quiet, --help and the users' own words for plan keys.
boost::program_options::options_description scenario_options();

/// The --set options. Throws InputError for one that is not KEY=VALUE and shows `example`.
std::vector<Override> set_overrides(const boost::program_options::variables_map& given, const std::string& example);

/// The parsed command line of such a verb.
struct ScenarioArguments {
  std::string file;
  bool json = false, quiet = false, help = false;
  boost::program_options::variables_map given;  ///< the verb's own options
  std::vector<Override> overrides;
  Catalog catalog;
};

/// `own`: options of the verb itself. Throws InputError on unknown options or a missing scenario.
ScenarioArguments parse_scenario_arguments(const std::string& verb, const std::vector<std::string>& arguments,
                                           const boost::program_options::options_description& own);

/// Usage, `text` and all options.
std::string verb_help(const std::string& verb, const std::string& text,
                      const boost::program_options::options_description& own);

/// Loads the scenario; prints its warnings to standard error unless --quiet or --json.
Scenario load(const ScenarioArguments& arguments);

}  // namespace scenarios
