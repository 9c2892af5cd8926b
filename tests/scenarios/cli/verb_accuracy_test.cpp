// `trainyard accuracy`: tables in, figures out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/accuracy/csv.h"
#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kRuns = "tests/data/runs_small.csv";

std::string small_table() { return read_file(std::string(TRAINYARD_SOURCE_DIR) + "/" + kRuns); }

TEST(VerbAccuracy, Help) {
  const RunResult run = run_binary({"accuracy", "--help"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.error, "");
  EXPECT_THAT(run.output, StartsWith("usage: trainyard accuracy RUNS.csv [MORE.csv] [options]\n"));
  for (const char* option : {"--json", "--per-row", "--report", "--catalog", "docs/accuracy.md"}) {
    EXPECT_THAT(run.output, HasSubstr(option));
  }
}

TEST(VerbAccuracy, ShowsWhatWasPredictedAndWhatWasNot) {
  const RunResult run = run_binary({"accuracy", kRuns});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.error, "");
  EXPECT_THAT(run.output, StartsWith("12 runs. error = ln(predicted / measured)\n\nfamily "));
  for (const char* text : {"clusters-of-a100 ", "clusters-of-h100 ", "buyers (weighted) ", "quality A ",
                           "Not predicted\n", "precision int8  1\n", "Recompute unknown: 1 rows",
                           "'generic' stands in: 1 rows", "usual one stands in: 1\n"}) {
    EXPECT_THAT(run.output, HasSubstr(text));
  }
}

TEST(VerbAccuracy, JsonIsOneObjectAndNothingElse) {
  const RunResult run = run_binary({"accuracy", kRuns, "--json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.error, "");
  const json answer = json::parse(run.output);
  EXPECT_EQ(answer["rows"], 12);
  ASSERT_EQ(answer["families"].size(), 2U);
  int predicted = answer["recompute_unknown"]["n"].get<int>() + answer["overlap_unknown"]["n"].get<int>();
  int skipped = 0;
  for (const json& family : answer["families"]) predicted += family["n"].get<int>();
  for (const json& reason : answer["skipped"]) skipped += reason["count"].get<int>();
  EXPECT_EQ(skipped, 1);
  EXPECT_EQ(predicted + skipped, 12);
  EXPECT_EQ(answer["total"]["n"], 9);
  for (const char* key : {"median_abs_error", "p90_abs_error", "bias", "skill", "shape_error"}) {
    EXPECT_TRUE(answer["total"][key].is_number()) << key;
    EXPECT_TRUE(answer["buyer"].contains(key)) << key;
  }
}

TEST(VerbAccuracy, ReadsStandardInputAndSeveralTables) {
  const json once = json::parse(run_binary({"accuracy", kRuns, "--json"}).output);
  EXPECT_EQ(json::parse(run_binary({"accuracy", "-", "--json"}, small_table()).output), once);
  const json twice = json::parse(run_binary({"accuracy", kRuns, "--json", "-"}, small_table()).output);
  EXPECT_EQ(twice["rows"], 24);
  EXPECT_EQ(twice["total"]["n"], 18);
  EXPECT_EQ(twice["total"]["median_abs_error"], once["total"]["median_abs_error"]);
}

/// The small table with a measured memory in every row, and `outcome` in a column of its own if there is one.
std::string memory_table(const std::string& outcome) {
  const CsvTable table = parse_csv(small_table(), kRuns);
  std::string text;
  for (const std::string& column : table.columns) text += column + ",";
  text += "outcome\n";
  for (const CsvRow& row : table.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const std::string& column = table.columns[i];
      text += (column == "measured_peak_memory_gib" ? "40"
               : column == "memory_kind"            ? "allocated"
                                                    : row.cells[i]) +
              ",";
    }
    text += outcome + "\n";
  }
  return text;
}

TEST(VerbAccuracy, JsonHoldsMemoryWhereItWasMeasured) {
  EXPECT_TRUE(json::parse(run_binary({"accuracy", kRuns, "--json"}).output)["total"]["memory"].is_null());
  const json answer = json::parse(run_binary({"accuracy", "-", "--json"}, memory_table("")).output);
  EXPECT_EQ(answer["families"][0]["memory"]["n"], 5);
  EXPECT_EQ(answer["families"][0]["memory"]["verdicts"]["n"], 0);
  EXPECT_EQ(answer["families"][0]["n"], 5);
  const json alone = json::parse(run_binary({"accuracy", "--memory", "-", "--json"}, memory_table("")).output);
  EXPECT_EQ(answer["total"]["memory"], alone["total"]["memory"]);
}

TEST(VerbAccuracy, TablesOfTimeAndOfMemoryTogetherAreScoredForWhatTheyHold) {
  const json time = json::parse(run_binary({"accuracy", kRuns, "--json"}).output);
  const std::string table = memory_table("fit");
  const json memory = json::parse(run_binary({"accuracy", "--memory", "-", "--json"}, table).output);
  const json both = json::parse(run_binary({"accuracy", kRuns, "-", "--json"}, table).output);
  EXPECT_EQ(both["rows"], 12);
  EXPECT_EQ(both["total"]["n"], time["total"]["n"]);
  EXPECT_EQ(both["total"]["memory"], memory["total"]["memory"]);
  EXPECT_EQ(both["families"][0]["memory"], memory["families"][0]["memory"]);
  const std::string text = run_binary({"accuracy", kRuns, "-"}, table).output;
  EXPECT_THAT(text, StartsWith("12 runs. error = "));
  EXPECT_THAT(text, HasSubstr("\nMemory of 12 runs. error = "));
}

TEST(VerbAccuracy, PerRowHasALineForEveryRun) {
  const ScratchFolder folder;
  const RunResult run = run_binary({"accuracy", kRuns, "--per-row", folder.path("rows.csv"), "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const CsvTable rows = parse_csv(read_file(folder.path("rows.csv")), "rows.csv");
  const CsvTable runs = parse_csv(small_table(), kRuns);
  ASSERT_EQ(rows.rows.size(), runs.rows.size());
  const std::size_t id = runs.find("id").value(), predicted = rows.find("predicted_step_s").value();
  const std::size_t skipped = rows.find("skipped").value();
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const auto& cells = rows.rows[i].cells;
    EXPECT_EQ(cells[rows.find("id").value()], runs.rows[i].cells[id]);
    EXPECT_NE(cells[predicted].empty(), cells[skipped].empty());
  }
}

TEST(VerbAccuracy, ReportIsAPlot) {
  const ScratchFolder folder;
  const RunResult run = run_binary({"accuracy", kRuns, "--report", folder.path("plot.html")});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const std::string html = read_file(folder.path("plot.html"));
  EXPECT_THAT(html, StartsWith("<!doctype html>"));
  EXPECT_THAT(html, HasSubstr("<svg "));
  EXPECT_THAT(html, HasSubstr("<title>example-0001 "));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"plot.html"});
}

TEST(VerbAccuracy, OwnCatalogueEntriesCount) {
  const ScratchFolder folder;
  const std::string gpu = read_file(std::string(TRAINYARD_SOURCE_DIR) + "/hw_models/catalog/gpus/h100-sxm-80gb.yaml");
  std::filesystem::create_directories(folder.path("gpus"));
  write_text(folder.path("gpus/a100-sxm-80gb.yaml"), gpu);
  const json a100 = json::parse(run_binary({"accuracy", kRuns, "--json"}).output);
  const json h100 = json::parse(run_binary({"accuracy", kRuns, "--json", "--catalog", folder.path("")}).output);
  EXPECT_LT(h100["families"][0]["bias"].get<double>(), a100["families"][0]["bias"].get<double>() - 0.3);
  EXPECT_EQ(h100["families"][1], a100["families"][1]);
}

struct Refusal {
  const char* what;
  std::vector<std::string> arguments;
  std::string input, error;
};

TEST(VerbAccuracy, BadInputIsNamedAndExitsWith2) {
  const std::string header = small_table().substr(0, small_table().find('\n') + 1);
  std::string without_gpus = header;
  without_gpus.replace(without_gpus.find(",gpus,"), 6, ",cards,");
  const Refusal refusals[] = {
      {"no table", {}, "", "error: no table given\n  write trainyard accuracy RUNS.csv ('-' reads standard input)\n"},
      {"a missing file", {"nowhere.csv"}, "", "nowhere.csv: error: there is no such file\n"},
      {"a directory", {"tests"}, "", "tests: error: this is a directory\n"},
      {"an unknown option",
       {kRuns, "--jsno"},
       "",
       "error: unrecognised option '--jsno'\n  see trainyard accuracy --help\n"},
      {"an empty table", {"-"}, "", "-:1:1: error: the file is empty\n  a table begins with a line of column names\n"},
      {"an open quote",
       {"-"},
       "a,b\n1,\"2\n",
       "-:2:3: error: the quote is never closed\n  end the cell with a quote\n"},
      {"a missing column",
       {"-"},
       without_gpus,
       "-:1:1: error: column 'gpus' is missing\n  docs/accuracy.md lists the columns\n"},
      {"binary",
       {"-"},
       std::string("\x7F"
                   "ELF\0\0",
                   6),
       "-:1:5: error: a NUL byte\n  this is not a text file\n"},
      {"a million columns",
       {"-"},
       std::string(1'000'000, ','),
       "-:1:1001: error: more than 1000 columns\n  is this the table?\n"},
  };
  for (const Refusal& each : refusals) {
    SCOPED_TRACE(each.what);
    std::vector<std::string> arguments = each.arguments;
    arguments.insert(arguments.begin(), "accuracy");
    const RunResult run = run_binary(arguments, each.input);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.output, "");
    EXPECT_EQ(run.error, each.error);
  }
}

TEST(VerbAccuracy, EndlessInputIsRefused) {
  const RunResult run = run_binary({"accuracy", "/dev/zero"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.error, "/dev/zero: error: more than 67108864 bytes are too many for a table\n");
}

TEST(VerbAccuracy, AHeaderAloneIsATableWithoutRuns) {
  const std::string header = small_table().substr(0, small_table().find('\n') + 1);
  const RunResult run = run_binary({"accuracy", "-", "--json"}, header);
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(json::parse(run.output)["rows"], 0);
}

}  // namespace
}  // namespace scenarios
