#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

TEST(VerbCalibrate, HelpNamesItsOptions) {
  const RunResult result = run_binary({"calibrate", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* option : {"--quick", "--out", "--quiet", "machine.yaml"}) {
    EXPECT_NE(result.output.find(option), std::string::npos) << option;
  }
}

/// Said before minutes of measuring.
TEST(VerbCalibrate, BadInputIsRefusedAtOnce) {
  const ScratchFolder scratch;
  const struct {
    std::vector<std::string> arguments;
    std::string finding;
  } cases[] = {
      {{"--out", scratch.path("none/machine.yaml")}, "cannot write: the folder does not exist"},
      {{"--out", scratch.path("")}, "cannot write: it is a directory"},
      {{"--out", ""}, "the name is empty"},
      {{"--fast"}, "--fast"},
      {{"file.yaml"}, "trainyard calibrate --help"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> arguments{"calibrate"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const RunResult result = run_binary(arguments);
    EXPECT_EQ(result.exit_code, 2) << c.finding;
    EXPECT_EQ(result.output, "");
    EXPECT_NE(result.error.find(c.finding), std::string::npos) << result.error;
  }
  EXPECT_TRUE(scratch.names().empty());
}

}  // namespace
}  // namespace scenarios
