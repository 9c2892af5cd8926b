#include "scenarios/cli/verb_topology.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>

#include "scenarios/cli/command_line.h"
#include "scenarios/import/read_topology.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/report/topology_report.h"
#include "scenarios/report/write_file.h"

namespace scenarios {
namespace {

namespace po = boost::program_options;

constexpr const char* kHelp =
    "usage: trainyard topology FILE [options]\n\n"
    "Prints the server that FILE describes: its PCIe tree, the classes of its links and the NICs nearest to each GPU.\n"
    "FILE ('-' = standard input) is an NCCL or RCCL topology (NCCL_TOPO_DUMP_FILE=topo.xml) or what 'nvidia-smi topo "
    "-m'\nor 'rocm-smi --showtopotype' prints.\n\n";

po::options_description shown_options() {
  po::options_description options("options", 120);
  options.add_options()("json", po::bool_switch(), "one JSON object on standard output, nothing else")(
      "dot", po::bool_switch(), "the graph for Graphviz on standard output, nothing else")(
      "svg", po::value<std::string>()->value_name("FILE.svg"), "draw it")("help,h", po::bool_switch(), "this text");
  return options;
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
  const NodeTopology topology = read_topology(given["file"].as<std::string>());
  if (given.count("svg") > 0) write_file(given["svg"].as<std::string>(), topology_svg(topology));
  if (given["json"].as<bool>()) {
    fmt::print("{}", topology_json(topology));
  } else {
    fmt::print("{}", given["dot"].as<bool>() ? topology_dot(topology) : topology_text(topology));
  }
  return 0;
}

}  // namespace scenarios
