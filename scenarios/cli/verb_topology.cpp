#include "scenarios/cli/verb_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "scenarios/cli/command_line.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/import/read_topology.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/predict/prediction.h"
#include "scenarios/report/fabric_report.h"
#include "scenarios/report/placement_report.h"
#include "scenarios/report/topology_report.h"
#include "scenarios/report/write_file.h"
#include "strategies/build_program.h"

namespace scenarios {
namespace {

namespace po = boost::program_options;

constexpr const char* kHelp =
    "usage: trainyard topology FILE [options]\n"
    "       trainyard topology SCENARIO.yaml [options]\n\n"
    "Prints the server that FILE describes: its PCIe tree, the classes of its links and the NICs nearest to each GPU.\n"
    "FILE ('-' = standard input) is an NCCL or RCCL topology (NCCL_TOPO_DUMP_FILE=topo.xml) or what 'nvidia-smi topo "
    "-m'\nor 'rocm-smi --showtopotype' prints.\n\n"
    "Of a scenario (a name that ends in .yaml or .yml) it prints the network between the nodes and how the groups of "
    "its plan "
    "lie\non the cluster: nodes, ranks per node, rails, and which groups leave their domain or their rail. Takes the "
    "options of simulate: --json, "
    "--set\nKEY=VALUE, --catalog DIR, --quiet and the words for plan keys.\n\n";

po::options_description shown_options() {
  po::options_description options("options", 120);
  options.add_options()("json", po::bool_switch(), "one JSON object on standard output, nothing else")(
      "dot", po::bool_switch(), "the graph for Graphviz on standard output, nothing else")(
      "svg", po::value<std::string>()->value_name("FILE.svg"), "draw it")(
      "set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"),
      "change a key of the scenario, e.g. --set cluster.fabric.oversubscription=2; may be repeated")(
      "catalog", po::value<std::string>()->value_name("DIR"),
      "of a scenario: lay your own files DIR/KIND/NAME.yaml over the catalogue")("help,h", po::bool_switch(),
                                                                                 "this text");
  return options;
}

bool names_scenario(const std::string& argument) { return argument.ends_with(".yaml") || argument.ends_with(".yml"); }

int show_scenario(const std::vector<std::string>& arguments) {
  if (std::ranges::any_of(arguments, [](const auto& word) { return word == "--dot" || word.starts_with("--svg"); })) {
    throw InputError("error: --dot and --svg draw servers, not scenarios\n  leave them out\n");
  }
  const ScenarioArguments given = parse_scenario_arguments("topology", arguments, po::options_description());
  const Scenario scenario = load(given);
  const strategies::Program program =
      strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
  const PlacementPrediction placement = predict_placement(scenario, program, place_job(scenario, program));
  if (given.json) {
    nlohmann::ordered_json json = fabric_json(scenario.cluster);
    json["placement"] = placement_json(placement);
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}\n{}", fabric_text(scenario.cluster), placement_text(scenario, placement));
  }
  return 0;
}

}  // namespace

int run_topology(const std::vector<std::string>& arguments) {
  const bool help = std::ranges::any_of(arguments, [](const auto& word) { return word == "--help" || word == "-h"; });
  if (!help && std::ranges::any_of(arguments, names_scenario)) return show_scenario(arguments);
  const po::options_description shown = shown_options();
  po::options_description all;
  all.add(shown).add_options()("file", po::value<std::string>());
  po::positional_options_description positions;
  positions.add("file", 1);
  const po::variables_map given = parse_command_line("topology", arguments, all, positions);
  if (given["help"].as<bool>()) {
    fmt::print("{}", help_text(kHelp, shown));
    return 0;
  }
  if (given.count("file") == 0) {
    throw InputError("error: no file given\n  write trainyard topology FILE ('-' reads standard input)\n");
  }
  if (given["json"].as<bool>() && given["dot"].as<bool>()) {
    throw InputError("error: --json and --dot exclude each other\n  keep one\n");
  }
  const auto file = given["file"].as<std::string>();
  if (given.count("set") + given.count("catalog") > 0) {
    throw InputError("error: --set and --catalog go with a scenario, FILE.yaml\n  leave them out\n");
  }
  const NodeTopology topology = read_topology(file);
  if (given.count("svg") > 0) write_file(given["svg"].as<std::string>(), topology_svg(topology));
  if (given["json"].as<bool>()) {
    fmt::print("{}", topology_json(topology));
  } else {
    fmt::print("{}", given["dot"].as<bool>() ? topology_dot(topology) : topology_text(topology));
  }
  return 0;
}

}  // namespace scenarios
