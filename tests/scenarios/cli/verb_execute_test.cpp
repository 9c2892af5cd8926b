// `trainyard execute`: trains, reports, refuses.
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

/// Two ranks of a model that takes milliseconds a step.
const std::string kScenario = R"(model: {base: tiny-cpu, layers: 2, hidden: 32, ffn: 64}
training: {sequence_length: 16, global_batch: 8, precision: fp32}
cluster: {node: cpu-box, nodes: 1}
plan: {data: 2, micro_batch: 2}
software: trainyard-cpu
execute: {steps: 5, learning_rate: 0.01}
)";

class VerbExecute : public testing::Test {
 protected:
  VerbExecute() { write_text(file_, kScenario); }
  RunResult run(std::vector<std::string> options) const {
    options.insert(options.begin(), {"execute", file_});
    return run_binary(options);
  }

  ScratchFolder scratch_;
  std::string file_ = scratch_.path("tiny.yaml");
};

TEST_F(VerbExecute, TrainsTheProgramThatSimulatePrices) {
  const RunResult executed = run({"--json"});
  ASSERT_EQ(executed.exit_code, 0) << executed.error;
  EXPECT_EQ(executed.error, "");
  const json answer = json::parse(executed.output);
  const json predicted = json::parse(run_binary({"simulate", file_, "--json"}).output);
  EXPECT_EQ(answer["fingerprint"], predicted["program_fingerprint"]);
  EXPECT_EQ(answer["ranks"], 2);
  EXPECT_EQ(answer["replicas_identical"], true);
  for (const char* series : {"loss", "grad_norm", "step_times_s"}) EXPECT_EQ(answer[series].size(), 5U) << series;
  EXPECT_LT(answer["loss"].back().get<double>(), answer["loss"].front().get<double>());
  EXPECT_NEAR(answer["tokens_per_s"].get<double>() * answer["step_s"].get<double>(), 16 * 8, 1e-6);
}

TEST_F(VerbExecute, TheOptimizerIsPartOfTheProgram) {
  const json adamw = json::parse(run({"--json", "--steps", "1"}).output);
  const json sgd = json::parse(run({"--json", "--steps", "1", "--set", "execute.optimizer=sgd"}).output);
  EXPECT_NE(adamw["fingerprint"], sgd["fingerprint"]);
  EXPECT_EQ(adamw["loss"], sgd["loss"]) << "before the first update";
}

TEST_F(VerbExecute, OtherPlansTrainAlike) {
  const json expected = json::parse(run({"--json"}).output);
  for (const std::vector<std::string>& plan : {std::vector<std::string>{"--dp", "1", "--tp", "2"},
                                               {"--dp", "1", "--pp", "2"},
                                               {"--dp", "2", "--tp", "2", "--set", "plan.zero=1", "--set",
                                                "cluster.node={base: cpu-box, gpus: 4, gpus_per_pcie_switch: 4}"}}) {
    std::vector<std::string> options{"--json"};
    options.insert(options.end(), plan.begin(), plan.end());
    const RunResult executed = run(options);
    ASSERT_EQ(executed.exit_code, 0) << executed.error;
    const json answer = json::parse(executed.output);
    for (std::size_t i = 0; i < 5; ++i) {
      const double loss = expected["loss"][i].get<double>();
      EXPECT_NEAR(answer["loss"][i].get<double>(), loss, 1e-4 * loss);
    }
  }
}

TEST_F(VerbExecute, WritesLossesAndRecords) {
  const std::string losses = scratch_.path("losses.csv"), records = scratch_.path("records.csv");
  const RunResult executed = run({"--steps", "2", "--csv", losses, "--records-out", records});
  ASSERT_EQ(executed.exit_code, 0) << executed.error;
  EXPECT_THAT(executed.output, HasSubstr("replicas    hold the same weights to the bit\n"));
  EXPECT_THAT(read_file(losses), StartsWith("step,loss,grad_norm,step_s\n1,"));
  const std::string text = read_file(records);
  const std::string fingerprint = json::parse(run({"--json", "--steps", "1"}).output)["fingerprint"];
  EXPECT_THAT(text, StartsWith("fingerprint," + fingerprint + "\nrank,step,action,operation,begin_ns,end_ns,label\n"));
  EXPECT_THAT(text, HasSubstr(",step-overhead\n1,0,0,0,")) << "rank 1 after rank 0";
}

TEST_F(VerbExecute, TheSeedDecides) {
  const auto loss = [&](const std::string& seed) {
    return json::parse(run({"--json", "--steps", "1", "--seed", seed}).output)["loss"];
  };
  EXPECT_EQ(loss("3"), loss("3"));
  EXPECT_NE(loss("3"), loss("4"));
}

// A run of hours must not end in vain: this one would not end at all.
TEST_F(VerbExecute, OutputsThatCannotBeWrittenEndItBeforeItBegins) {
  for (const char* option : {"--csv", "--records-out"}) {
    const RunResult executed = run({"--steps", "1000000000", option, scratch_.path("none/file.csv")});
    EXPECT_EQ(executed.exit_code, 2);
    EXPECT_EQ(executed.error, scratch_.path("none/file.csv") + ": error: cannot write: the folder does not exist\n");
  }
}

TEST_F(VerbExecute, BadInputIsExplained) {
  struct Case {
    std::vector<std::string> options;
    std::string message;
  };
  const std::string empty = scratch_.path("empty.txt"), folder = scratch_.path("");
  write_text(empty, "");
  const Case cases[] = {
      {{"--set", "execute.data=nowhere.txt"}, "nowhere.txt: error: there is no such file\n"},
      {{"--set", "execute.data=."}, "error: this is a directory\n"},
      {{"--set", "execute.data=empty.txt"},
       "empty.txt' has 0 bytes, too few for a sequence of 16 and the byte that follows\n"
       "  use a longer file or a shorter sequence_length\n"},
      {{"--set", "software=megatron-core"},
       "error: the cpu backend cannot run 'megatron-core': it has no fp32 kernel for 'attention' as that stack "
       "computes it\n  use software: trainyard-cpu with precision: fp32\n"},
      {{"--set", "model.query_key_norm=per-head"},
       "error: the cpu backend cannot run 'tiny-cpu' under this plan: it has norms of queries and keys\n"},
      {{"--backend", "gpu"}, "error: unknown backend 'gpu'\n  known: cpu\n"},
      {{"--tp", "4"}, "error: "},
      {{"--steps", "0"}, "'steps: 0' is out of range; use 1 to 1000000000"},
  };
  for (const Case& c : cases) {
    const RunResult executed = run(c.options);
    EXPECT_EQ(executed.exit_code, 2) << c.options.back();
    EXPECT_THAT(executed.error, HasSubstr(c.message));
    EXPECT_EQ(executed.output, "");
  }
  EXPECT_THAT(run_binary({"execute", "-"}, kScenario).error, HasSubstr("write it to a file"));
}

}  // namespace
}  // namespace scenarios
