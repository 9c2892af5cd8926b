// Every file of scenarios/examples: what `simulate` prints, and what must hold whatever it prints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "hw_models/cluster.h"
#include "scenarios/predict/prediction.h"
#include "sim/price_program.h"
#include "sim/step_simulation.h"
#include "strategies/build_program.h"
#include "strategies/placement/placement.h"
#include "strategies/program/check.h"
#include "tests/golden/golden.h"
#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

using nlohmann::json;

std::string stem(const std::string& file) { return std::filesystem::path(file).stem().string(); }

Scenario load_example(const std::string& file) {
  return load_scenario(std::filesystem::path(TRAINYARD_SOURCE_DIR) / file, Catalog());
}

class Example : public testing::TestWithParam<std::string> {};

TEST_P(Example, PrintsTheGoldenText) {
  const RunResult run = run_binary({"simulate", GetParam()});
  tests::expect_golden("examples/" + stem(GetParam()) + ".txt",
                       fmt::format("{}--- standard error\n{}--- exit code {}\n", run.output, run.error, run.exit_code));
  const RunResult again = run_binary({"simulate", GetParam()});
  EXPECT_EQ(again.output, run.output);
  EXPECT_EQ(again.error, run.error);
  EXPECT_EQ(run.output.find('\033'), std::string::npos) << "a colour";
}

TEST_P(Example, ExplainsItself) {
  const std::string text = read_file(std::string(TRAINYARD_SOURCE_DIR) + "/" + GetParam());
  EXPECT_TRUE(text.starts_with("# ")) << "says first why it is interesting";
}

TEST_P(Example, IsAWellFormedProgram) {
  const Scenario scenario = load_example(GetParam());
  const strategies::Program program =
      strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
  EXPECT_EQ(strategies::check_program(program), std::vector<std::string>{});
  EXPECT_EQ(program.ranks(), scenario.cluster.nodes * scenario.cluster.node.gpus);
}

TEST_P(Example, BlocksAndOperationsAgreeToTheNanosecond) {
  const Scenario scenario = load_example(GetParam());
  const strategies::Program program =
      strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
  const sim::Prices prices =
      sim::price_program(program, sim::classes_by_role(program), hw_models::Cluster(scenario.cluster), scenario.gpu,
                         scenario.software.prices, strategies::packed(program), scenario.training);
  const sim::StepResult blocks = sim::simulate_lanes(program, prices);
  const sim::StepResult operations = sim::simulate_operations(program, prices);
  EXPECT_GT(blocks.step_ns, 0);
  EXPECT_EQ(blocks.step_ns, operations.step_ns);
  EXPECT_EQ(blocks.mean, operations.mean);
  ASSERT_EQ(blocks.of_class.size(), operations.of_class.size());
  for (std::size_t r = 0; r < blocks.of_class.size(); ++r) {
    EXPECT_EQ(blocks.of_class[r].breakdown, operations.of_class[r].breakdown) << program.roles[r].name;
  }
}

TEST_P(Example, PartsAddUp) {
  const Scenario scenario = load_example(GetParam());
  const Prediction p = predict(scenario);
  const auto sum = [](const sim::Breakdown& parts) { return std::accumulate(parts.begin(), parts.end(), 0LL); };
  EXPECT_EQ(sum(p.result.mean), p.result.step_ns);
  for (const sim::ClassResult& role : p.result.of_class) EXPECT_EQ(sum(role.breakdown), p.result.step_ns);
  ASSERT_EQ(p.memory.stages.size(), static_cast<std::size_t>(scenario.plan.pipeline));
  for (const StageMemory& stage : p.memory.stages) {
    EXPECT_EQ(stage.weights + stage.gradients + stage.optimizer + stage.activations + stage.other,
              stage.allocated_bytes)
        << "stage " << stage.stage;
    EXPECT_GE(stage.peak_bytes, stage.allocated_bytes);
  }
  EXPECT_GT(p.step.mfu, 0);
  EXPECT_LT(p.step.hfu, 1);
  EXPECT_GE(p.step.hfu, p.step.mfu);
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = stem(info.param);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Example, testing::ValuesIn(example_files()), test_name);

TEST(Examples, AreMany) { EXPECT_GE(example_files().size(), 9U); }

/// The JSON answer of an example, perhaps changed on the command line.
json simulate(const std::string& name, std::vector<std::string> changes = {}, int exit_code = 0) {
  changes.insert(changes.begin(), {"simulate", "scenarios/examples/" + name + ".yaml", "--json"});
  const RunResult run = run_binary(changes);
  EXPECT_EQ(run.exit_code, exit_code) << run.error;
  return json::parse(run.output);
}

double step_s(const json& answer) { return answer["step"]["time_s"]; }
double share(const json& answer, const char* part) {
  return answer["step"]["breakdown_s"][part].get<double>() / step_s(answer);
}

// What the comments of the files say.

TEST(ExampleClaims, TwiceTheNodesTakeHalfTheDays) {
  const double days = simulate("llama3-8b-h100")["run"]["days"];
  const double twice = simulate("llama3-8b-h100", {"--nodes", "16", "--dp", "128"})["run"]["days"];
  EXPECT_NEAR(twice / days, 0.5, 0.02);
}

TEST(ExampleClaims, Llama405BNeedsRecomputationAndWaitsInTheBubble) {
  const json answer = simulate("llama3-405b-h100");
  EXPECT_EQ(answer["gpus"], 16384);
  EXPECT_EQ(answer["bottleneck"]["name"], "bubble");
  EXPECT_NEAR(share(answer, "recompute"), 1.0 / 6, 0.03);
  simulate("llama3-405b-h100", {"--set", "plan.recompute=none"}, 1);
}

TEST(ExampleClaims, TheSecondEthernetBoxOnlyCosts) {
  const json two = simulate("pcie-ethernet-box");
  const json one = simulate("pcie-ethernet-box", {"--nodes", "1", "--dp", "8"});
  EXPECT_EQ(two["bottleneck"]["name"], "exposed_data");
  EXPECT_NEAR(share(two, "exposed_data"), 2.0 / 3, 0.05);
  EXPECT_LT(step_s(one), step_s(two));
  EXPECT_LT(one["run"]["cost_usd"], two["run"]["cost_usd"]);
}

TEST(ExampleClaims, ModelThatDoesNotFit) {
  const json answer = simulate("does-not-fit", {}, 1);
  EXPECT_FALSE(answer["memory"]["fits"]);
  EXPECT_EQ(answer["bottleneck"]["name"], "memory");
}

TEST(ExampleClaims, DataStall) {
  const json answer = simulate("data-stall");
  EXPECT_NEAR(step_s(answer), 512.0 / 150, 1e-6);
  EXPECT_EQ(answer["bottleneck"]["name"], "data_stall");
  const json fed = simulate("data-stall", {"--set", "training.input.samples_per_s=unlimited"});
  EXPECT_NEAR(step_s(answer) / step_s(fed), 3, 0.5);
  EXPECT_EQ(fed["step"]["breakdown_s"]["data_stall"], 0.0);
}

TEST(ExampleClaims, TensorRanksSufferOnPcie) {
  const double data = step_s(simulate("own-config-l40s"));
  const json tensor = simulate("own-config-l40s", {"--tp", "4", "--dp", "2"});
  EXPECT_GT(step_s(tensor), 2 * data);
  EXPECT_EQ(tensor["bottleneck"]["name"], "exposed_tensor");
}

TEST(ExampleClaims, ReplicasOverEfaCostMoreThanStages) {
  const json stages = simulate("gpt-neox-20b-p4d");
  const json replicas = simulate("gpt-neox-20b-p4d", {"--pp", "2", "--dp", "8"});
  EXPECT_LT(share(stages, "exposed_data"), share(replicas, "exposed_data"));
}

}  // namespace
}  // namespace scenarios
