#include "scenarios/cli/verb_collectives.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "hw_models/cluster_check.h"
#include "scenarios/cli/command_line.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/collectives/collectives_accuracy.h"
#include "scenarios/collectives/collectives_table.h"
#include "scenarios/collectives/diagnosis.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/load/read_file.h"
#include "scenarios/load/sections.h"

namespace scenarios {
namespace {

namespace po = boost::program_options;

constexpr const char* kHelp =
    "usage: trainyard collectives SCENARIO [options]\n"
    "       trainyard collectives --node NODE [--nodes N] [--gpus N] [options]\n"
    "       trainyard collectives --accuracy SWEEP.csv [options]\n\n"
    "Prints what NCCL's collectives take on a cluster, in the columns of nccl-tests, with the algorithm and protocol\n"
    "that NCCL chooses and the link that limits the rate. --measured compares a real run of nccl-tests with it and\n"
    "names the likely cause of what is missing (exit code 1 below 80 % at large sizes). --accuracy scores the model\n"
    "against a table of measurements. docs/nccl.md explains the model and the columns.\n\n";

constexpr const char* kSetExample = "cluster.nodes=4";

po::options_description shown_options() {
  po::options_description options("options", 120);
  auto add = options.add_options();
  add("node", po::value<std::string>()->value_name("NAME"), "a node of the catalogue, in place of a scenario");
  add("nodes", po::value<int>()->value_name("N"), "number of nodes (1)");
  add("gpus", po::value<int>()->value_name("N"), "GPUs that take part, the first of every node evenly (all)");
  add("fabric", po::value<std::string>()->value_name("NAME"), "a network of the catalogue (the node's usual one)");
  add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"),
      "change a key of the scenario or cluster, e.g. --set cluster.fabric.oversubscription=2; may be repeated");
  add("operation", po::value<std::string>()->value_name("NAME"),
      "all_reduce (default), all_gather, reduce_scatter, broadcast, reduce, alltoall or sendrecv");
  add("min-bytes", po::value<std::string>()->value_name("SIZE"), "smallest size (8 B)");
  add("max-bytes", po::value<std::string>()->value_name("SIZE"), "largest size (16 GiB); sizes double");
  add("algo", po::value<std::string>()->value_name("WORDS"), "as NCCL_ALGO: Ring,Tree or ^NVLS");
  add("proto", po::value<std::string>()->value_name("WORDS"), "as NCCL_PROTO: LL,LL128,Simple or ^LL");
  add("no-nvls", po::bool_switch(), "as NCCL_NVLS_ENABLE=0");
  add("sharp", po::bool_switch(), "the network's switches reduce (NCCL_COLLNET_ENABLE=1)");
  add("int8", po::bool_switch(), "data that switches cannot add");
  add("measured", po::value<std::string>()->value_name("FILE"), "the output of nccl-tests ('-' reads standard input)");
  add("accuracy", po::value<std::string>()->value_name("SWEEP.csv"), "score the model against measurements");
  add("json", po::bool_switch(), "one JSON object on standard output, nothing else");
  add("catalog", po::value<std::string>()->value_name("DIR"),
      "lay your own files DIR/KIND/NAME.yaml over the catalogue");
  add("help,h", po::bool_switch(), "this text");
  return options;
}

po::variables_map parse(const std::vector<std::string>& arguments, const po::options_description& shown) {
  po::options_description all;
  all.add(shown).add_options()("scenario", po::value<std::string>());
  po::positional_options_description positions;
  positions.add("scenario", 1);
  return parse_command_line("collectives", arguments, all, positions);
}

std::optional<std::string> text_of(const po::variables_map& given, const char* option) {
  return given.count(option) > 0 ? std::optional(given[option].as<std::string>()) : std::nullopt;
}

/// The cluster of --node, read as the `cluster` section of a scenario would be.
hw_models::ClusterSpec cluster_of_options(const po::variables_map& given, const Catalog& catalog) {
  nlohmann::ordered_json section{{"node", given["node"].as<std::string>()}};
  if (const auto fabric = text_of(given, "fabric")) section["fabric"] = *fabric;
  if (given.count("nodes") > 0) section["nodes"] = given["nodes"].as<int>();
  const std::string text =
      nlohmann::ordered_json{{"cluster", section}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  Diagnostics diagnostics("command line", text);
  std::optional<Value> root = parse_yaml(text, diagnostics);
  for (const Override& change : set_overrides(given, kSetExample)) {
    if (root) root = with_override(*root, change.path, change.value, diagnostics);
  }
  std::optional<ClusterSection> cluster;
  Reading reading{catalog, {}, diagnostics, ""};
  if (root) {
    MapReader reader(*root, diagnostics);
    if (const auto value = reader.value("cluster")) cluster = read_cluster(*value, reading);
    reader.finish();
  }
  if (diagnostics.has_errors() || !reading.other_files.empty() || !cluster) {
    throw InputError(diagnostics.print() + reading.other_files);
  }
  return cluster->cluster;
}

/// A scenario's stack says which NCCL it has; --algo overrules that.
hw_models::ClusterSpec cluster_of(const po::variables_map& given, const Catalog& catalog, CollectiveOptions& options) {
  const bool scenario = given.count("scenario") > 0;
  if (scenario == (given.count("node") > 0)) {
    throw InputError(scenario ? "error: a scenario and --node exclude each other\n  leave one out\n"
                              : "error: no cluster given\n  write trainyard collectives --node dgx-h100 --nodes 2, or "
                                "name a scenario\n");
  }
  if (!scenario) return cluster_of_options(given, catalog);
  std::vector<Override> overrides = set_overrides(given, kSetExample);
  if (const auto fabric = text_of(given, "fabric")) overrides.push_back({"cluster.fabric", *fabric});
  const Scenario read = load_scenario(given["scenario"].as<std::string>(), catalog, overrides);
  if (given.count("algo") == 0) {
    options.choice.algorithms = hw_models::known_to_nccl(read.software.prices.nccl).algorithms;
  }
  hw_models::ClusterSpec cluster = read.cluster;
  if (given.count("nodes") > 0 && cluster.mixed()) {
    throw std::invalid_argument("nodes: the scenario lists several kinds of nodes, change the counts in its list");
  }
  if (given.count("nodes") > 0) cluster.nodes = given["nodes"].as<int>();  // the plan does not matter here
  constexpr int kMostGpus = 1'000'000;
  if (!cluster.mixed() && cluster.nodes > kMostGpus / cluster.node.gpus) {
    throw std::invalid_argument(fmt::format("nodes: at most {}", kMostGpus / cluster.node.gpus));
  }
  hw_models::check(cluster);
  return cluster;
}

template <class Parse>
auto words_of(const po::variables_map& given, const char* option, const char* known, Parse parse) {
  const std::string words = given[option].as<std::string>();
  const auto parsed = parse(words);
  if (parsed) return *parsed;
  throw InputError(
      fmt::format("error: '--{} {}' names something else\n  known: {}\n", option, shortened(words), known));
}

CollectiveOptions options_of(const po::variables_map& given) {
  CollectiveOptions options;
  if (given.count("algo") > 0) {
    options.choice.algorithms = words_of(given, "algo", "Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT",
                                         hw_models::parse_nccl_algorithms);
  }
  if (given.count("proto") > 0) {
    options.choice.protocols = words_of(given, "proto", "LL, LL128, Simple", hw_models::parse_nccl_protocols);
  }
  options.nvls = !given["no-nvls"].as<bool>();
  options.sharp = given["sharp"].as<bool>();
  options.reducible = !given["int8"].as<bool>();
  return options;
}

const CollectiveTest* operation_of(const po::variables_map& given) {
  const auto name = text_of(given, "operation");
  if (!name) return nullptr;
  if (const CollectiveTest* test = find_collective_test(*name)) return test;
  std::vector<std::string> names;
  for (const CollectiveTest& test : kCollectiveTests) names.emplace_back(test.name);
  const auto near = nearest(*name, names);
  throw InputError(fmt::format("error: unknown operation '{}'\n  {}\n", shortened(*name),
                               near ? "did you mean '" + *near + "'?" : "see trainyard collectives --help"));
}

std::int64_t size_of(const po::variables_map& given, const char* option, std::int64_t otherwise) {
  const auto text = text_of(given, option);
  if (!text) return otherwise;
  const ParsedQuantity size = parse_quantity(QuantityKind::kBytes, *text);
  constexpr double kMost = 1e15;
  if (size.error.empty() && size.value >= 1 && size.value <= kMost) return static_cast<std::int64_t>(size.value);
  throw InputError(fmt::format("error: '--{} {}': {}\n  write --{} \"16 MiB\"\n", option, shortened(*text),
                               size.error.empty() ? "out of range" : size.error, option));
}

int gpus_of(const po::variables_map& given, const hw_models::ClusterSpec& cluster) {
  return given.count("gpus") > 0 ? given["gpus"].as<int>() : cluster.gpus();
}

int show_accuracy(const po::variables_map& given, const Catalog& catalog) {
  const std::string file = given["accuracy"].as<std::string>();
  const CollectivesAccuracy accuracy =
      evaluate_collectives(read_sweep(parse_csv(read_bounded_file(file, kLargestTable, "a table"), file)), catalog);
  fmt::print("{}",
             given["json"].as<bool>() ? collectives_accuracy_json(accuracy) : collectives_accuracy_text(accuracy));
  return 0;
}

int compare(const po::variables_map& given, const hw_models::ClusterSpec& cluster, const CollectiveOptions& options) {
  if (cluster.mixed()) {
    throw std::invalid_argument("measured: the likely causes are known for clusters of one kind of node only");
  }
  const std::string file = given["measured"].as<std::string>();
  const NcclTestsOutput output =
      parse_nccl_tests(read_bounded_file(file, kLargestTable, "an output of nccl-tests"), file);
  for (const std::string& warning : output.warnings) fmt::print(stderr, "{}\n", warning);
  const CollectiveTest* named = operation_of(given);
  const CollectiveTest* test = named != nullptr ? named : output.test;
  if (test == nullptr) {
    throw InputError(
        fmt::format("{}:{}:1: error: the rows do not tell which collective they are of\n  add --operation "
                    "all_gather, or whichever it was\n",
                    file, output.rows.front().line));
  }
  const bool ranks_given = given.count("gpus") > 0 || output.ranks == 0;
  const int gpus = ranks_given ? gpus_of(given, cluster) : output.ranks;
  const Diagnosis diagnosis = diagnose(output, *test, cluster, gpus, options);
  fmt::print("{}", given["json"].as<bool>() ? diagnosis_json(diagnosis) : diagnosis_text(diagnosis));
  return diagnosis.as_expected() ? 0 : 1;
}

int show_table(const po::variables_map& given, const hw_models::ClusterSpec& cluster,
               const CollectiveOptions& options) {
  const CollectiveTest* test = operation_of(given);
  if (test == nullptr) test = &kCollectiveTests.front();
  const std::int64_t smallest = size_of(given, "min-bytes", 8);
  const std::int64_t largest = size_of(given, "max-bytes", std::int64_t{16} << 30);
  if (largest < smallest) throw InputError("error: --max-bytes is below --min-bytes\n  swap the two?\n");
  const Machine machine(cluster, gpus_of(given, cluster), options);
  const CollectivesTable table = collectives_table(machine, cluster, *test, smallest, largest);
  fmt::print("{}", given["json"].as<bool>() ? collectives_table_json(table) : collectives_table_text(table));
  return 0;
}

}  // namespace

int run_collectives(const std::vector<std::string>& arguments) {
  const po::options_description shown = shown_options();
  const po::variables_map given = parse(arguments, shown);
  if (given["help"].as<bool>()) {
    fmt::print("{}", help_text(kHelp, shown));
    return 0;
  }
  const Catalog catalog(catalog_overlay(given));
  if (given.count("accuracy") > 0) return show_accuracy(given, catalog);
  try {
    CollectiveOptions options = options_of(given);
    const hw_models::ClusterSpec cluster = cluster_of(given, catalog, options);
    return given.count("measured") > 0 ? compare(given, cluster, options) : show_table(given, cluster, options);
  } catch (const std::invalid_argument& problem) {
    throw InputError(fmt::format("error: {}\n  see trainyard collectives --help\n", problem.what()));
  }
}

}  // namespace scenarios
