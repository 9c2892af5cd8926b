#include "scenarios/cli/verb_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kFile = "tests/data/topology/two-sockets.xml";

TEST(VerbTopology, ReadsAFileOrStandardInput) {
  const RunResult run = run_binary({"topology", kFile});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.output, StartsWith("NCCL topology file: 4 GPUs"));
  EXPECT_EQ(run_binary({"topology", "-"}, read_file(std::string(TRAINYARD_SOURCE_DIR) + "/" + kFile)).output,
            run.output);
}

TEST(VerbTopology, DrawsForGraphvizAndAsSvg) {
  const ScratchFolder folder;
  const RunResult run = run_binary({"topology", kFile, "--dot", "--svg", folder.path("topo.svg")});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.output, StartsWith("graph topology {"));
  EXPECT_THAT(read_file(folder.path("topo.svg")), testing::AllOf(StartsWith("<svg"), EndsWith("</svg>\n")));
}

TEST(VerbTopology, PrintsTheFabricOfAScenario) {
  const std::string scenario = "scenarios/examples/llama3-70b-h100.yaml";
  const RunResult run = run_binary({"topology", scenario, "--set", "cluster.fabric.routing.hashed=7"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.output, HasSubstr("hashed (seed 7) routing"));
  EXPECT_THAT(run.output, HasSubstr("\nspine "));
  const RunResult drawn = run_binary({"topology", scenario, "--dot"});
  EXPECT_EQ(drawn.exit_code, 2);
  EXPECT_THAT(drawn.error, HasSubstr("draw servers, not scenarios"));
  EXPECT_EQ(run_binary({"topology", kFile, "--set", "plan.tensor=1"}).exit_code, 2);
}

TEST(VerbTopology, Refusals) {
  const RunResult none = run_binary({"topology"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.error, HasSubstr("no file given"));
  EXPECT_EQ(run_binary({"topology", kFile, "--json", "--dot"}).exit_code, 2);
  EXPECT_THAT(run_binary({"topology", "nowhere.xml"}).error, HasSubstr("there is no such file"));
  const RunResult other = run_binary({"topology", "-"}, "<graphs/>");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.error, StartsWith("-:1:2: error: these are NCCL's search results"));
}

TEST(VerbTopology, OfAScenarioWhereItsGroupsLie) {
  const std::string scenario = "scenarios/examples/llama3-70b-h100.yaml";
  const RunResult run = run_binary({"topology", scenario, "--set", "placement=rail", "--mbs", "1"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.output, HasSubstr("placement rail, rank order tp-"));
  EXPECT_THAT(run.output, HasSubstr("\n  tensor "));
  const auto placed = nlohmann::json::parse(run_binary({"topology", scenario, "--json"}).output)["placement"];
  const auto simulated = nlohmann::json::parse(run_binary({"simulate", scenario, "--json"}).output);
  EXPECT_EQ(placed, simulated["placement"]);
  EXPECT_EQ(placed["rule"], "packed");
  EXPECT_EQ(placed["families"][0]["name"], "tensor");
  EXPECT_EQ(placed["families"][0]["across_domains"], 0);
  EXPECT_EQ(run_binary({"topology", scenario, "--dot"}).exit_code, 2);
  EXPECT_EQ(run_binary({"topology", "nowhere.yaml"}).exit_code, 2);
}

}  // namespace
}  // namespace scenarios
