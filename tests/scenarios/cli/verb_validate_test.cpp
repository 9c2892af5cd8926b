#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

/// A step of milliseconds on one rank. Nothing is said about its time: any error up to tenfold is a yes.
std::vector<std::string> small(const std::string& verb) {
  return {verb,    "scenarios/examples/tiny-cpu.yaml", "--set", "training.sequence_length=16",
          "--set", "training.global_batch=2",          "--set", "plan.micro_batch=1"};
}

RunResult run_with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_binary(arguments);
}

TEST(VerbValidate, HelpNamesItsOptions) {
  const RunResult result = run_binary({"validate", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* option : {"--backend", "--steps", "--tolerance", "--records", "--trace", "--json"}) {
    EXPECT_NE(result.output.find(option), std::string::npos) << option;
  }
}

TEST(VerbValidate, RunsAndCompares) {
  const ScratchFolder scratch;
  const RunResult result =
      run_with(small("validate"), {"--tolerance", "10", "--json", "--trace", scratch.path("both.json")});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["ranks"], 2);
  EXPECT_EQ(json["loss"].size(), 12u);
  EXPECT_EQ(json["steps_s"].size(), 10u);
  EXPECT_GT(json["predicted_step_s"], 0);
  EXPECT_GT(json["measured_step_s"], 0);
  EXPECT_NEAR(json["error"], json["predicted_step_s"].get<double>() / json["measured_step_s"].get<double>() - 1, 1e-9);
  double predicted = 0, measured = 0;
  for (const auto& row : json["by_kind"]) {
    predicted += row["predicted_s"].get<double>();
    measured += row["measured_s"].get<double>();
  }
  EXPECT_NEAR(predicted, json["predicted_step_s"], 1e-9);  // the remainder is one of the rows
  EXPECT_NEAR(measured, json["measured_step_s"], 1e-9);
  ASSERT_EQ(json["memory"].size(), 1u);
  EXPECT_GT(json["memory"][0]["measured_bytes"], 0);
  const auto trace = nlohmann::json::parse(read_file(scratch.path("both.json")));
  std::string names;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") names += event["args"]["name"].get<std::string>() + ";";
  }
  EXPECT_EQ(names,
            "predicted, stage 0, rank 0;predicted, stage 0, rank 1;measured, stage 0, rank 0;measured, stage 0, rank "
            "1;");
}

TEST(VerbValidate, TakesRecordsMadeElsewhereOfTheSameProgramOnly) {
  const ScratchFolder scratch;
  const std::string file = scratch.path("records.csv");
  ASSERT_EQ(run_with(small("execute"), {"--steps", "12", "--records-out", file, "--quiet"}).exit_code, 0);
  const RunResult same = run_with(small("validate"), {"--records", file, "--tolerance", "10", "--json"});
  ASSERT_EQ(same.exit_code, 0) << same.error;
  EXPECT_EQ(nlohmann::json::parse(same.output)["steps_s"].size(), 10u);
  const RunResult other = run_with(small("validate"), {"--records", file, "--set", "training.global_batch=4"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.error.find("these are records of another program"), std::string::npos) << other.error;
}

TEST(VerbValidate, ATraceThatCannotBeWrittenEndsItBeforeItBegins) {
  const ScratchFolder scratch;
  const RunResult result = run_with(small("validate"), {"--steps", "1000000", "--trace", scratch.path("none/t.json")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error, scratch.path("none/t.json") + ": error: cannot write: the folder does not exist\n");
}

TEST(VerbValidate, BinaryRecordsDoNotReachTheTerminal) {
  const ScratchFolder scratch;
  const std::string noise = scratch.path("noise.bin");
  write_text(noise, "\x7f\x1b[2J\x9b\xff\r");
  const RunResult result = run_with(small("validate"), {"--records", noise});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error,
            noise + ":1: error: not a file of records\n   ??[2J??\n  trainyard execute --records-out writes one\n");
}

TEST(VerbValidate, BadInputIsRefused) {
  const struct {
    std::vector<std::string> more;
    std::string finding;
  } cases[] = {
      {{"--steps", "9"}, "--steps 9: a median needs 10"},      {{"--steps", "many"}, "--steps"},
      {{"--tolerance", "0"}, "--tolerance 0 must be above 0"}, {{"--tolerance", "nan"}, "--tolerance"},
      {{"--backend", "gpu"}, "unknown backend 'gpu'"},         {{"--records", "no/such.csv"}, "no/such.csv"},
  };
  for (const auto& c : cases) {
    const RunResult result = run_with(small("validate"), c.more);
    EXPECT_EQ(result.exit_code, 2) << c.finding;
    EXPECT_NE(result.error.find(c.finding), std::string::npos) << result.error;
    EXPECT_EQ(result.output, "");
  }
  const RunResult none = run_binary({"validate"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.error.find("no scenario"), std::string::npos) << none.error;
}

}  // namespace
}  // namespace scenarios
