// The command line as a whole, through the real program: verbs, options, mistakes and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/cli/verb.h"
#include "scenarios/user_words.h"
#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kExample = "scenarios/examples/tiny-cpu.yaml";

/// A file that the verb reads.
std::string input_of(std::string_view verb) {
  if (verb == "accuracy") return "tests/data/runs_small.csv";
  if (verb == "topology") return "tests/data/topology/two-sockets.xml";
  return kExample;
}

/// The options that `verb --help` must name.
std::vector<std::string> options_of(std::string_view verb) {
  if (verb == "topology") return {"--json", "--dot", "--svg", "--help"};
  if (verb == "calibrate") return {"--quick", "--out", "--quiet", "--help"};
  std::vector<std::string> options{"--json", "--catalog", "--help"};
  if (verb == "catalog") return options;
  if (verb == "accuracy") {
    options.insert(options.end(), {"--memory", "--per-row", "--report"});
    return options;
  }
  if (verb == "collectives") {
    options.insert(options.end(), {"--set", "--nodes", "--gpus", "--measured", "--accuracy"});
    return options;
  }
  options.insert(options.end(), {"--set", "--quiet"});
  for (const UserWord& word : user_words()) options.push_back("--" + std::string(word.word));
  if (verb == "simulate") options.emplace_back("--trace");
  return options;
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.emplace_back(verb.name);
  return names;
}

void expect_refusal(const std::vector<std::string>& arguments, const std::string& message) {
  const RunResult run = run_binary(arguments);
  EXPECT_EQ(run.exit_code, 2) << message;
  EXPECT_EQ(run.output, "");
  EXPECT_EQ(run.error, message);
}

TEST(CommandLine, WithoutArgumentsShowsTheVerbs) {
  const RunResult run = run_binary({});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.output, "");
  EXPECT_THAT(run.error, StartsWith("usage: trainyard VERB [SCENARIO] [options]\n"));
  for (const Verb& verb : verbs()) EXPECT_THAT(run.error, HasSubstr(std::string(verb.summary)));
}

TEST(CommandLine, HelpGoesToStandardOutput) {
  const std::string usage = run_binary({}).error;
  for (const char* word : {"--help", "-h", "help"}) {
    const RunResult run = run_binary({word});
    EXPECT_EQ(run.exit_code, 0) << word;
    EXPECT_EQ(run.output, usage) << word;
    EXPECT_EQ(run.error, "") << word;
  }
}

TEST(CommandLine, Version) {
  const RunResult run = run_binary({"--version"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.output, testing::MatchesRegex("trainyard [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

class EveryVerb : public testing::TestWithParam<std::string> {};

TEST_P(EveryVerb, HelpNamesEveryOption) {
  const RunResult run = run_binary({GetParam(), "--help"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.error, "");
  EXPECT_THAT(run.output, StartsWith("usage: trainyard " + GetParam() + " "));
  for (const std::string& option : options_of(GetParam())) EXPECT_THAT(run.output, HasSubstr(option));
  EXPECT_EQ(run_binary({GetParam(), "-h"}).output, run.output);
}

TEST_P(EveryVerb, RefusesUnknownAndAbbreviatedOptions) {
  expect_refusal({GetParam(), "--bogus"},
                 "error: unrecognised option '--bogus'\n  see trainyard " + GetParam() + " --help\n");
  if (GetParam() == "catalog") return;
  expect_refusal({GetParam(), kExample, "--js"},
                 "error: unrecognised option '--js'\n  see trainyard " + GetParam() + " --help\n");
}

TEST_P(EveryVerb, JsonIsOneObjectAndNothingElse) {
  if (GetParam() == "calibrate") return;  // its answer is the file that it writes
  std::vector<std::string> arguments{GetParam(), "--json"};
  if (GetParam() != "catalog") arguments.push_back(input_of(GetParam()));
  if (GetParam() == "execute") arguments.insert(arguments.end(), {"--steps", "2"});
  if (GetParam() == "validate") arguments.insert(arguments.end(), {"--tolerance", "10"});  // not this machine's node
  const RunResult run = run_binary(arguments);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(nlohmann::json::parse(run.output).is_object());
  EXPECT_THAT(run.output, testing::EndsWith("}\n"));
}

INSTANTIATE_TEST_SUITE_P(Verbs, EveryVerb, testing::ValuesIn(verb_names()),
                         [](const testing::TestParamInfo<std::string>& verb) { return verb.param; });

TEST(CommandLine, UnknownVerb) {
  expect_refusal({"simulat"}, "error: unknown verb 'simulat'\n  did you mean 'simulate'?\n");
  expect_refusal({"zzzzzzzz"}, "error: unknown verb 'zzzzzzzz'\n  see trainyard --help\n");
}

TEST(CommandLine, ScenarioThatIsNotThere) {
  expect_refusal({"simulate"},
                 "error: no scenario given\n  write trainyard simulate SCENARIO.yaml ('-' reads standard input)\n");
  expect_refusal({"memory"},
                 "error: no scenario given\n  write trainyard memory SCENARIO.yaml ('-' reads standard input)\n");
  expect_refusal({"simulate", "not-there.yaml"}, "not-there.yaml: error: there is no such file\n");
  expect_refusal({"memory", "scenarios"}, "scenarios: error: this is a directory\n");
  expect_refusal({"simulate", kExample, "--catalog", "not-there"},
                 "not-there: error: the catalogue directory does not exist\n");
  EXPECT_EQ(run_binary({"simulate", kExample, kExample}).exit_code, 2);
}

TEST(CommandLine, OptionsWithoutValue) {
  expect_refusal({"simulate", kExample, "--set", "tensor"},
                 "error: '--set tensor' has no value\n  write --set plan.tensor=4\n");
  expect_refusal({"simulate", kExample, "--set", "=4"}, "error: '--set =4' has no key\n  write --set plan.tensor=4\n");
  expect_refusal({"simulate", kExample, "--set"},
                 "error: the required argument for option '--set' is missing\n  see trainyard simulate --help\n");
  EXPECT_EQ(run_binary({"simulate", kExample, "--tp"}).exit_code, 2);
}

TEST(CommandLine, StandardInputIsTheFile) {
  const std::string text = read_file(std::string(TRAINYARD_SOURCE_DIR) + "/" + kExample);
  const RunResult from_file = run_binary({"simulate", kExample});
  const RunResult from_input = run_binary({"simulate", "-"}, text);
  EXPECT_EQ(from_input.exit_code, 0);
  EXPECT_EQ(from_input.output, from_file.output);
  EXPECT_EQ(nlohmann::json::parse(run_binary({"memory", "-", "--json"}, text).output)["scenario"], "-");
  const RunResult empty = run_binary({"simulate", "-"});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_EQ(empty.error, "-: error: the file is empty\n");
}

/// A value of every short word that this scenario can take.
const std::map<std::string, std::string> kWordValues{
    {"tp", "4"},  {"pp", "2"},   {"dp", "16"},   {"cp", "1"},        {"ep", "1"},    {"etp", "1"},       {"vpp", "1"},
    {"mbs", "2"}, {"gbs", "16"}, {"gpus", "16"}, {"seq-len", "512"}, {"nodes", "4"}, {"gpu", "h200-sxm"}};
const char* const kSmall =
    "model: llama2-7b\n"
    "training: {sequence_length: 1024, global_batch: 32}\n"
    "cluster: {node: dgx-h100, nodes: 2}\n"
    "plan: {data: auto}\n";

TEST(CommandLine, ShortWordsAreKeys) {
  for (const UserWord& word : user_words()) {
    SCOPED_TRACE(word.word);
    ASSERT_TRUE(kWordValues.contains(std::string(word.word)));
    const std::string value = kWordValues.at(std::string(word.word));
    // `gpus` stands instead of `nodes`, which the file has.
    std::string text = kSmall;
    if (word.word == "gpus") text.erase(text.find(", nodes: 2"), 10);
    if (word.word == "etp") text.replace(text.find("llama2-7b"), 9, "mixtral-8x7b");
    const RunResult by_word = run_binary({"simulate", "-", "--" + std::string(word.word), value}, text);
    const RunResult by_key = run_binary({"simulate", "-", "--set", std::string(word.key) + "=" + value}, text);
    const RunResult by_word_as_key = run_binary({"simulate", "-", "--set", std::string(word.word) + "=" + value}, text);
    EXPECT_NE(by_word.output, "") << by_word.error;
    EXPECT_EQ(by_word.output, by_key.output);
    EXPECT_EQ(by_word.output, by_word_as_key.output);
    EXPECT_EQ(by_word.exit_code, by_key.exit_code);
  }
}

TEST(CommandLine, ShortWordsChangeTheScenario) {
  const RunResult run = run_binary({"simulate", kExample, "--tp", "2", "--dp=1", "--set", "training.global_batch=8"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.output, HasSubstr("tensor 2 x pipeline 1 x data 1, 2 microbatches of 4"));
}

TEST(CommandLine, MistakesOfOptionsAreNamedAsOptions) {
  const RunResult run = run_binary({"simulate", kExample, "--set", "plan.tenso=2"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.error, "--set plan.tenso=2: error: unknown key 'tenso'; did you mean 'tensor'?\n");
}

TEST(CommandLine, WarningsGoToStandardErrorOrIntoTheJson) {
  // 44 layers over 8 stages do not divide.
  const std::vector<std::string> uneven{"simulate", "scenarios/examples/gpt-neox-20b-p4d.yaml", "--pp", "8", "--dp",
                                        "2"};
  const auto with = [&](const char* option) {
    std::vector<std::string> arguments = uneven;
    arguments.emplace_back(option);
    return run_binary(arguments);
  };
  const RunResult loud = run_binary(uneven);
  EXPECT_EQ(loud.exit_code, 0);
  EXPECT_THAT(loud.error, HasSubstr("44 layers do not divide over 8 stages"));
  EXPECT_THAT(loud.output, testing::Not(HasSubstr("do not divide")));
  const RunResult quiet = with("--quiet");
  EXPECT_EQ(quiet.error, "");
  EXPECT_EQ(quiet.output, loud.output);
  EXPECT_EQ(with("-q").output, loud.output);
  const RunResult json = with("--json");
  EXPECT_EQ(json.error, "");
  EXPECT_THAT(nlohmann::json::parse(json.output)["warnings"].dump(), HasSubstr("44 layers do not divide"));
}

TEST(CommandLine, ACatalogueOfOnesOwn) {
  const ScratchFolder folder;
  const RunResult unknown = run_binary({"simulate", "-"}, "model: mine\n");
  EXPECT_EQ(unknown.exit_code, 2);
  std::filesystem::create_directories(folder.path("models"));
  write_text(folder.path("models/mine.yaml"),
             "layers: 2\nhidden: 64\nheads: 2\nffn: 128\nvocabulary: 100\nsource: a test\n");
  const std::string scenario =
      "model: mine\ntraining: {sequence_length: 64, global_batch: 4, precision: fp32}\n"
      "cluster: {node: cpu-box}\nplan: {data: 2}\nsoftware: trainyard-cpu\n";
  const RunResult known = run_binary({"simulate", "-", "--catalog", folder.path("")}, scenario);
  EXPECT_EQ(known.exit_code, 0) << known.error;
  EXPECT_THAT(known.output, HasSubstr("model       mine ("));
}

}  // namespace
}  // namespace scenarios
