// `trainyard simulate`: the JSON contract of docs/scenario.md, exit codes, and the text beside it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

using nlohmann::json;
using testing::HasSubstr;

enum class Type { kText, kWhole, kReal, kTruth, kTexts };

struct Key {
  const char* path;  ///< JSON pointer
  Type type;
};

constexpr Key kContract[] = {
    {"/scenario", Type::kText},
    {"/program_fingerprint", Type::kText},
    {"/gpus", Type::kWhole},
    {"/step/time_s", Type::kReal},
    {"/step/tokens_per_s", Type::kReal},
    {"/step/tokens_per_s_per_gpu", Type::kReal},
    {"/step/model_tflops_per_gpu", Type::kReal},
    {"/step/mfu", Type::kReal},
    {"/step/mfu_causal", Type::kReal},
    {"/step/hfu", Type::kReal},
    {"/step/flops_convention", Type::kText},
    {"/step/peak_tflops", Type::kReal},
    {"/step/dtype", Type::kText},
    {"/step/breakdown_s/compute", Type::kReal},
    {"/step/breakdown_s/recompute", Type::kReal},
    {"/step/breakdown_s/host", Type::kReal},
    {"/step/breakdown_s/exposed_tensor", Type::kReal},
    {"/step/breakdown_s/exposed_data", Type::kReal},
    {"/step/breakdown_s/exposed_pipeline", Type::kReal},
    {"/step/breakdown_s/exposed_context", Type::kReal},
    {"/step/breakdown_s/exposed_expert", Type::kReal},
    {"/step/breakdown_s/bubble", Type::kReal},
    {"/step/breakdown_s/imbalance", Type::kReal},
    {"/step/breakdown_s/straggler", Type::kReal},
    {"/step/breakdown_s/data_stall", Type::kReal},
    {"/step/breakdown_s/optimizer", Type::kReal},
    {"/step/breakdown_s/other", Type::kReal},
    {"/memory/fits", Type::kTruth},
    {"/memory/capacity_bytes", Type::kWhole},
    {"/memory/peak_bytes", Type::kWhole},
    {"/memory/peak_allocated_bytes", Type::kWhole},
    {"/memory/device_bytes", Type::kWhole},
    {"/memory/stages/0/stage", Type::kWhole},
    {"/memory/stages/0/peak_bytes", Type::kWhole},
    {"/memory/stages/0/weights", Type::kWhole},
    {"/memory/stages/0/gradients", Type::kWhole},
    {"/memory/stages/0/optimizer", Type::kWhole},
    {"/memory/stages/0/activations", Type::kWhole},
    {"/memory/stages/0/other", Type::kWhole},
    {"/run/tokens", Type::kReal},
    {"/run/steps", Type::kWhole},
    {"/run/days", Type::kReal},
    {"/run/gpu_hours", Type::kReal},
    {"/run/cost_usd", Type::kReal},
    {"/run/energy_kwh", Type::kReal},
    {"/run/energy_status", Type::kText},
    {"/band/step_low_s", Type::kReal},
    {"/band/step_high_s", Type::kReal},
    {"/band/basis", Type::kText},
    {"/bottleneck/name", Type::kText},
    {"/bottleneck/problem", Type::kText},
    {"/bottleneck/advice", Type::kText},
    {"/warnings", Type::kTexts},
};

bool has_type(const json& value, Type type) {
  switch (type) {
    case Type::kText:
      return value.is_string() && !value.get<std::string>().empty();
    case Type::kWhole:
      return value.is_number_integer();
    case Type::kReal:
      return value.is_number_float();
    case Type::kTruth:
      return value.is_boolean();
    case Type::kTexts:
      return value.is_array() && std::ranges::all_of(value, [](const json& each) { return each.is_string(); });
  }
  return false;
}

class Contract : public testing::TestWithParam<std::string> {};

TEST_P(Contract, HasEveryKeyWithItsType) {
  const json answer = json::parse(run_binary({"simulate", GetParam(), "--json"}).output);
  for (const Key& key : kContract) {
    const json::json_pointer path(key.path);
    ASSERT_TRUE(answer.contains(path)) << key.path;
    EXPECT_TRUE(has_type(answer[path], key.type)) << key.path << " is " << answer[path];
  }
}

TEST_P(Contract, FiguresAgreeWithEachOther) {
  const RunResult run = run_binary({"simulate", GetParam(), "--json"});
  const json answer = json::parse(run.output);
  const json& step = answer["step"];
  const double time = step["time_s"];
  double sum = 0;
  for (const json& part : step["breakdown_s"]) sum += part.get<double>();
  EXPECT_NEAR(sum, time, 1e-9 * std::max(1.0, time));
  EXPECT_NEAR(step["tokens_per_s"].get<double>() / answer["gpus"].get<int>(),
              step["tokens_per_s_per_gpu"].get<double>(), 1e-6 * step["tokens_per_s_per_gpu"].get<double>());
  EXPECT_NEAR(step["model_tflops_per_gpu"].get<double>() / step["peak_tflops"].get<double>(), step["mfu"].get<double>(),
              1e-9);
  EXPECT_LE(step["mfu_causal"], step["mfu"]);
  EXPECT_GE(step["hfu"], step["mfu"]);
  const json& memory = answer["memory"];
  std::int64_t peak = 0;
  for (const json& stage : memory["stages"]) peak = std::max(peak, stage["peak_bytes"].get<std::int64_t>());
  EXPECT_EQ(memory["peak_bytes"], peak);
  EXPECT_GE(memory["device_bytes"], memory["peak_bytes"]);
  EXPECT_EQ(memory["fits"].get<bool>(), memory["device_bytes"] <= memory["capacity_bytes"]);
  EXPECT_EQ(run.exit_code, memory["fits"].get<bool>() ? 0 : 1);
  const json& whole = answer["run"];
  EXPECT_NEAR(whole["days"].get<double>(), whole["steps"].get<double>() * time / 86400,
              1e-9 * whole["days"].get<double>());
  EXPECT_NEAR(whole["gpu_hours"].get<double>(), whole["days"].get<double>() * 24 * answer["gpus"].get<int>(),
              1e-9 * whole["gpu_hours"].get<double>());
  EXPECT_EQ(whole["energy_status"], "not validated");
  EXPECT_LE(answer["band"]["step_low_s"], time);
  EXPECT_GE(answer["band"]["step_high_s"], time);
  EXPECT_THAT(answer["bottleneck"]["problem"], testing::AnyOf("speed", "capacity", "both"));
}

INSTANTIATE_TEST_SUITE_P(Examples, Contract,
                         testing::Values("scenarios/examples/tiny-cpu.yaml", "scenarios/examples/gpt3-175b-a100.yaml",
                                         "scenarios/examples/does-not-fit.yaml"),
                         [](const testing::TestParamInfo<std::string>& file) { return fmt::format("{}", file.index); });

TEST(VerbSimulate, TextSaysWhatTheJsonSays) {
  const std::string file = "scenarios/examples/gpt3-175b-a100.yaml";
  const RunResult run = run_binary({"simulate", file});
  const json answer = json::parse(run_binary({"simulate", file, "--json"}).output);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.output, HasSubstr(fmt::format("step        {:.3f} s", answer["step"]["time_s"].get<double>())));
  EXPECT_THAT(run.output, HasSubstr(fmt::format("MFU {:.1f} %", 100 * answer["step"]["mfu"].get<double>())));
  EXPECT_THAT(run.output, HasSubstr(fmt::format("{:.1f} days", answer["run"]["days"].get<double>())));
  EXPECT_THAT(run.output, HasSubstr(answer["step"]["flops_convention"].get<std::string>()));
  EXPECT_THAT(run.output, HasSubstr("dense bf16 peak"));
  EXPECT_THAT(run.output, HasSubstr("(not validated)"));
  EXPECT_THAT(run.output, HasSubstr(answer["bottleneck"]["advice"].get<std::string>()));
}

TEST(VerbSimulate, ExitCodeSaysWhetherItFits) {
  const RunResult run = run_binary({"simulate", "scenarios/examples/does-not-fit.yaml"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, HasSubstr("DOES NOT FIT"));
}

TEST(VerbSimulate, FingerprintFollowsTheProgramNotThePrices) {
  const auto fingerprint = [](std::vector<std::string> changes) {
    changes.insert(changes.begin(), {"simulate", "scenarios/examples/tiny-cpu.yaml", "--json"});
    return json::parse(run_binary(changes).output)["program_fingerprint"].get<std::string>();
  };
  const std::string base = fingerprint({});
  EXPECT_EQ(fingerprint({"--set", "software.prices.kernel_launch=9 us"}), base);
  EXPECT_NE(fingerprint({"--gbs", "32"}), base);
}

TEST(VerbSimulate, UnfoldedPrintsTheSame) {
  for (const std::string& fault : {std::string("{}"), std::string("{slow_gpu: {rank: 5, factor: 0.8}}"),
                                   std::string("{thin_link: {node: 1, factor: 0.5}}")}) {
    std::vector<std::string> arguments{"simulate", "scenarios/examples/gpt-neox-20b-p4d.yaml", "--json", "--set",
                                       "faults=" + fault};
    const std::string folded = run_binary(arguments).output;
    arguments.push_back("--unfolded");
    EXPECT_EQ(run_binary(arguments).output, folded);
  }
}

TEST(VerbSimulate, ASlowGpuShowsInBreakdownWarningsAndBottleneck) {
  const json answer = json::parse(run_binary({"simulate", "scenarios/examples/gpt-neox-20b-p4d.yaml", "--json", "--set",
                                              "faults.slow_gpu={rank: 5, factor: 0.5}"})
                                      .output);
  EXPECT_GT(answer["step"]["breakdown_s"]["straggler"], 0.1 * answer["step"]["time_s"].get<double>());
  EXPECT_EQ(answer["bottleneck"]["name"], "straggler");
  EXPECT_THAT(answer["bottleneck"]["advice"].get<std::string>(), HasSubstr("rank 5"));
  EXPECT_THAT(answer["warnings"].dump(), HasSubstr("rank 5 computes at 0.5 of the others' speed"));
}

TEST(VerbSimulate, ADeadNicShowsWhatItCosts) {
  const std::vector<std::string> arguments{"simulate", "scenarios/examples/gpt-neox-20b-p4d.yaml", "--set",
                                           "faults.dead_nic={node: 3, nic: 2}"};
  const RunResult run = run_binary(arguments);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.error, HasSubstr("NIC 2 of node 3 is dead: GPU 4 uses NIC 3, GPU 5 uses NIC 3"));
  EXPECT_THAT(run.output, HasSubstr("on a sound cluster"));
  const auto with_json = [](std::vector<std::string> words) {
    words.emplace_back("--json");
    return words;
  };
  const json answer = json::parse(run_binary(with_json(arguments)).output);
  const json sound = json::parse(run_binary(with_json({arguments[0], arguments[1]})).output);
  EXPECT_EQ(answer["faults"]["sound_step_s"], sound["step"]["time_s"]);
  EXPECT_GT(answer["faults"]["cost_s"], 0);
  EXPECT_TRUE(sound["faults"].is_null());
}

}  // namespace
}  // namespace scenarios
