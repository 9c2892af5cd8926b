// `trainyard collectives`: tables, comparisons and scores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

TEST(VerbCollectives, Help) {
  const RunResult run = run_binary({"collectives", "--help"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* option : {"--node ", "--nodes ", "--gpus ", "--fabric ", "--operation ", "--algo ", "--proto ",
                             "--measured ", "--accuracy ", "--json", "--catalog", "docs/nccl.md"}) {
    EXPECT_THAT(run.output, HasSubstr(option));
  }
}

TEST(VerbCollectives, TableOfANode) {
  const RunResult run = run_binary({"collectives", "--node", "dgx-h100", "--nodes", "2"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(run.error, "");
  EXPECT_THAT(run.output, StartsWith("# all_reduce on 16 GPUs, 2 x dgx-h100, infiniband-ndr\n"));
  for (const char* text : {"algbw", "busbw", "17179869184", "NVLSTree", "NVLink"}) {
    EXPECT_THAT(run.output, HasSubstr(text));
  }
}

TEST(VerbCollectives, JsonIsOneObjectAndNothingElse) {
  const RunResult run = run_binary({"collectives", "--node", "dgx-h100", "--operation", "all-to-all", "--min-bytes",
                                    "1 MiB", "--max-bytes", "4 MiB", "--gpus", "4", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const json answer = json::parse(run.output);
  EXPECT_EQ(answer["operation"], "alltoall");
  ASSERT_EQ(answer["rows"].size(), 3U);
  std::int64_t bytes = 1 << 20;
  for (const json& row : answer["rows"]) {
    EXPECT_EQ(row["bytes"], bytes);
    EXPECT_NEAR(row["algbw_GBps"].get<double>(), static_cast<double>(bytes) / row["time_us"].get<double>() / 1e3, 1e-9);
    EXPECT_NEAR(row["busbw_GBps"].get<double>(), row["algbw_GBps"].get<double>() * 3 / 4, 1e-9);
    for (const char* key : {"algorithm", "protocol", "bottleneck_link"}) EXPECT_TRUE(row[key].is_string()) << key;
    bytes *= 2;
  }
}

TEST(VerbCollectives, ScenariosAndSettings) {
  const auto last = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"collectives", "scenarios/examples/llama3-8b-h100.yaml", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult run = run_binary(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.error;
    return json::parse(run.output);
  };
  const json plain = last({"--gpus", "8", "--nodes", "1"});
  EXPECT_EQ(plain["gpus"], 8);
  EXPECT_EQ(plain["rows"].back()["algorithm"], "NVLS");
  EXPECT_EQ(last({"--nodes", "1", "--no-nvls"})["rows"].back()["algorithm"], "Ring");
  EXPECT_EQ(last({"--nodes", "1", "--algo", "^NVLS,Ring", "--proto", "Simple"})["rows"].back()["algorithm"], "Tree");
}

TEST(VerbCollectives, MeasuredIsCompared) {
  const std::string rows =
      "[0] NCCL INFO Bootstrap : Using eth0\n"
      "   16777216  4194304  float  sum  -1   120.0  139.81  244.67  0   121.0  138.6  242.6  0\n"
      "node0:1:2 [3] NCCL INFO Channel 00/24 :    0   1   2\n"
      " 1073741824  268435456  float  sum  -1  4100.0  261.89  458.31  0  4101.0  261.8  458.2  0\n";
  const RunResult good = run_binary({"collectives", "--node", "dgx-h100", "--measured", "-", "--json"}, rows);
  EXPECT_EQ(good.exit_code, 0) << good.error;
  const json answer = json::parse(good.output);
  EXPECT_EQ(answer["operation"], "all_reduce");
  ASSERT_EQ(answer["rows"].size(), 2U);
  EXPECT_NEAR(answer["rows"][1]["percent_of_expected"].get<double>(), 100, 15);
  EXPECT_EQ(answer["likely_fault"], nullptr);
  // A fifth of the rate between two nodes: one NIC, which a tree uses both ways.
  const std::string slow = "1073741824 268435456 float sum -1 22000.0 48.81 91.51 0 22000 48.8 91.5 0\n";
  const RunResult bad = run_binary({"collectives", "--node", "dgx-h100", "--nodes", "2", "--measured", "-"}, slow);
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.output, HasSubstr("one NIC carries everything"));
}

TEST(VerbCollectives, AccuracyOfATable) {
  const RunResult run = run_binary({"collectives", "--accuracy", "tests/data/published/nccl.csv", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const json answer = json::parse(run.output);
  EXPECT_EQ(answer["total"]["n"].get<int>(),
            answer["single_node"]["n"].get<int>() + answer["multi_node"]["n"].get<int>());
  EXPECT_GT(answer["systems"].size(), 20U);
}

TEST(VerbCollectives, BadInputIsNamedAndExitsWith2) {
  struct Refusal {
    std::vector<std::string> arguments;
    std::string input, error;
  };
  const std::string row = "8 2 half none -1 10 0.00 0.00 0\n";
  const std::vector<Refusal> refusals{
      {{}, "", "error: no cluster given"},
      {{"--node", "dgx-h1000"}, "", "did you mean 'dgx-h100'?"},
      {{"--node", "dgx-h100", "--nodes", "0"}, "", "command line:1:"},
      {{"--node", "dgx-h100", "--nodes", "two"}, "", "--nodes"},
      {{"--node", "dgx-h100", "--gpus", "9"}, "", "error: gpus: 9 GPUs cannot be spread evenly over 1 nodes of 8"},
      {{"--node", "dgx-h100", "--operation", "all_reduced"}, "", "did you mean 'all_reduce'?"},
      {{"--node", "dgx-h100", "--algo", "Rings"}, "", "error: '--algo Rings' names something else"},
      {{"--node", "dgx-h100", "--min-bytes", "many"}, "", "error: '--min-bytes many'"},
      {{"--node", "dgx-h100", "--min-bytes", "2 GiB", "--max-bytes", "1 GiB"}, "", "--max-bytes is below"},
      {{"--node", "dgx-h100", "--measured", "-"}, "nothing here\n", "-:1:1: error: no row of nccl-tests"},
      {{"--node", "dgx-h100", "--measured", "-"}, row, "-:1:1: error: the rows do not tell which collective"},
      {{"--accuracy", "-"}, "system\nx\n", "-:1:1: error: column 'gpu' is missing"},
      {{"a.yaml", "--node", "dgx-h100"}, "", "error: a scenario and --node exclude each other"},
  };
  for (const Refusal& refusal : refusals) {
    std::vector<std::string> arguments{"collectives"};
    arguments.insert(arguments.end(), refusal.arguments.begin(), refusal.arguments.end());
    const RunResult run = run_binary(arguments, refusal.input);
    EXPECT_EQ(run.exit_code, 2) << refusal.error;
    EXPECT_THAT(run.error, HasSubstr(refusal.error));
    EXPECT_EQ(run.output, "");
  }
}

}  // namespace
}  // namespace scenarios
