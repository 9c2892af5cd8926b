#include "scenarios/cli/verb_topology.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>

#include "scenarios/cli/command_line.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/import/read_topology.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/report/fabric_report.h"
#include "scenarios/report/topology_report.h"
#include "scenarios/report/write_file.h"

namespace scenarios {
namespace {

namespace po = boost::program_options;

constexpr const char* kHelp =
    "usage: trainyard topology FILE [options]\n\n"
    "Prints the server that FILE describes: its PCIe tree, the classes of its links and the NICs nearest to each GPU.\n"
    "FILE ('-' = standard input) is an NCCL or RCCL topology (NCCL_TOPO_DUMP_FILE=topo.xml) or what 'nvidia-smi topo "
    "-m'\nor 'rocm-smi --showtopotype' prints. Of a scenario (FILE.yaml) it prints the network between the nodes: "
    "switches, "
    "cables\nand what crossing each tier costs.\n\n";

constexpr const char* kSetExample = "cluster.fabric.oversubscription=2";

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

bool is_scenario(const std::string& file) { return file.ends_with(".yaml") || file.ends_with(".yml"); }

int show_fabric(const std::string& file, const po::variables_map& given) {
  if (given["dot"].as<bool>() || given.count("svg") > 0) {
    throw InputError("error: --dot and --svg draw servers, not scenarios\n  leave them out\n");
  }
  const Scenario scenario = load_scenario(file, Catalog(catalog_overlay(given)), set_overrides(given, kSetExample));
  fmt::print("{}", given["json"].as<bool>() ? fabric_json(scenario.cluster) : fabric_text(scenario.cluster));
  return 0;
}

}  // namespace

int run_topology(const std::vector<std::string>& arguments) {
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
  if (is_scenario(file)) return show_fabric(file, given);
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
