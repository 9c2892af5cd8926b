// `trainyard memory`: verdict, exit code and the same figures as `simulate`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kFits = "scenarios/examples/llama3-70b-h100.yaml";
const std::string kTooBig = "scenarios/examples/does-not-fit.yaml";

TEST(VerbMemory, ExitCodeSaysWhetherItFits) {
  const RunResult fits = run_binary({"memory", kFits});
  EXPECT_EQ(fits.exit_code, 0);
  EXPECT_EQ(fits.error, "");
  EXPECT_THAT(fits.output, StartsWith("Memory per GPU at its peak, GiB (h100-sxm-80gb has 79.65)\n"));
  EXPECT_THAT(fits.output, HasSubstr("to spare on the heaviest stage"));
  const RunResult too_big = run_binary({"memory", kTooBig});
  EXPECT_EQ(too_big.exit_code, 1);
  EXPECT_THAT(too_big.output, HasSubstr("DOES NOT FIT"));
}

TEST(VerbMemory, JsonIsThatOfSimulate) {
  for (const std::string& file : {kFits, kTooBig}) {
    SCOPED_TRACE(file);
    const RunResult memory = run_binary({"memory", file, "--json"});
    const RunResult simulate = run_binary({"simulate", file, "--json"});
    EXPECT_EQ(memory.exit_code, simulate.exit_code);
    const json answer = json::parse(memory.output);
    const json whole = json::parse(simulate.output);
    for (const char* key : {"scenario", "program_fingerprint", "gpus", "memory", "warnings"}) {
      EXPECT_EQ(answer[key], whole[key]) << key;
    }
    EXPECT_EQ(answer["memory"]["fits"].get<bool>(), memory.exit_code == 0);
  }
}

TEST(VerbMemory, TextIsThatOfSimulate) {
  const std::string memory = run_binary({"memory", kFits}).output;
  EXPECT_THAT(run_binary({"simulate", kFits}).output, HasSubstr("\n" + memory + "\n"));
}

TEST(VerbMemory, RecomputationSavesActivationsAndNothingElse) {
  const auto stage = [](const char* recompute) {
    const RunResult run = run_binary({"memory", kFits, "--json", "--set", std::string("plan.recompute=") + recompute});
    return json::parse(run.output)["memory"]["stages"][0];
  };
  const json none = stage("none");
  const json full = stage("full");
  EXPECT_LT(full["activations"].get<double>(), none["activations"].get<double>() / 4);
  for (const char* part : {"weights", "gradients", "optimizer"}) EXPECT_EQ(full[part], none[part]) << part;
}

}  // namespace
}  // namespace scenarios
