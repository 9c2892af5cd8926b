#include "scenarios/accuracy/accuracy_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/accuracy/csv.h"

namespace scenarios {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

MeasuredRun run(const std::string& id, const std::string& family, double step_s) {
  MeasuredRun run;
  run.id = id;
  run.family = family;
  run.step_s = step_s;
  return run;
}

RowResult row(std::size_t index, double predicted_s, double error) {
  RowResult row;
  row.run = index;
  row.predicted_s = predicted_s;
  row.error = error;
  return row;
}

/// Two scored rows, one bracketed, one skipped; figures that nothing computes, to see them come through.
AccuracyReport report() {
  AccuracyReport report;
  report.runs = {run("a-1", "first", 10), run("a-2", "first", 100), run("b-1", "second, \"new\"", 4),
                 run("b<2>&", "second, \"new\"", 5)};
  report.rows = {row(0, 11, 0.0953), row(1, 80, -0.2231), row(2, 3, -0.2877), row(3, 0, 0)};
  report.rows[0].other_overlap_s = 12;
  report.rows[2].full_recompute_s = 4.5;
  report.rows[3].skipped = "ZeRO 3";
  report.skipped = {{"ZeRO 3", 1}};
  report.families = {{"first", {2, 0.0953, 0.2231, -0.0639, 0.25, 0.1592}, {}},
                     {"second, \"new\"", {}, {{1, 1}, {}, {}}}};
  report.qualities = {{"quality A", {2, 0.0953, 0.2231, -0.0639, 0.25, 0.1592}}, {"quality B", {}}};
  report.splits = {{"GPUs 1 to 9", {2, 0.0953, 0.2231, -0.0639, {}, {}}}, {"tensor > 8", {}}};
  report.total = {2, 0.0953, 0.2231, -0.0639, 0.25, 0.1592};
  report.buyer = {1, 0.05, 0.06, 0.07, {}, {}};
  report.unstated = {{1, 1}, {4, 3}, {2, 1, 0.05, 0.1}};
  report.usual_software = 3;
  report.usual_network = 2;
  return report;
}

TEST(AccuracyReport, Text) {
  EXPECT_EQ(accuracy_text(report()),
            R"(4 runs. error = ln(predicted / measured)

family             rows  median %  p90 %  bias %  skill  shape %
first                 2       9.5   22.3    -6.4   0.25     15.9
all                   2       9.5   22.3    -6.4   0.25     15.9
buyers (weighted)     1       5.0    6.0    +7.0      -        -
quality A             2       9.5   22.3    -6.4   0.25     15.9
quality B             0
GPUs 1 to 9           2       9.5   22.3    -6.4      -        -

Not predicted
  ZeRO 3  1

Recompute unknown: 1 rows, measured between none and full in 1; not in the errors above
Overlap and software unknown: 4 rows, measured between overlapped and exposed in 3; not in the errors above
Overlap not stated, the stack's stands in: 2 rows of the errors above. Overlapped and exposed lie 5.0 %
apart (median; p90 10.0 %); measured between them in 1
Software unknown, 'generic' stands in: 3 rows. Network unknown, the node's usual one stands in: 2
)");
}

const std::vector<std::string> kErrorKeys{"n", "median_abs_error", "p90_abs_error", "bias", "skill", "shape_error"};

TEST(AccuracyReport, JsonKeepsItsContract) {
  const json answer = json::parse(accuracy_json(report(), {}));
  EXPECT_EQ(answer["rows"], 4);
  EXPECT_EQ(answer["skipped"], json::parse(R"([{"reason": "ZeRO 3", "count": 1}])"));
  ASSERT_EQ(answer["families"].size(), 2U);
  EXPECT_EQ(answer["families"][0]["family"], "first");
  EXPECT_EQ(answer["families"][1]["family"], "second, \"new\"");
  EXPECT_EQ(answer["families"][1]["recompute_unknown"], json::parse(R"({"n": 1, "inside": 1})"));
  EXPECT_EQ(answer["recompute_unknown"], json::parse(R"({"n": 1, "inside": 1})"));
  EXPECT_EQ(answer["overlap_unknown"], json::parse(R"({"n": 4, "inside": 3})"));
  EXPECT_EQ(answer["overlap_of_the_stack"],
            json::parse(R"({"n": 2, "inside": 1, "median_width": 0.05, "p90_width": 0.1})"));
  for (const char* key : {"overlap_unknown", "overlap_of_the_stack", "memory"}) {
    EXPECT_TRUE(answer["families"][0].contains(key)) << key;
  }
  for (const json& errors : {answer["families"][0], answer["total"], answer["qualities"][0]}) {
    EXPECT_EQ(errors["n"], 2);
    EXPECT_EQ(errors["median_abs_error"], 0.0953);
    EXPECT_EQ(errors["p90_abs_error"], 0.2231);
    EXPECT_EQ(errors["bias"], -0.0639);
    EXPECT_EQ(errors["skill"], 0.25);
    EXPECT_EQ(errors["shape_error"], 0.1592);
  }
  for (const json& errors : {answer["families"][1], answer["buyer"], answer["splits"][0]}) {
    for (const std::string& key : kErrorKeys) EXPECT_TRUE(errors.contains(key)) << key;
    EXPECT_TRUE(errors["skill"].is_null());
    EXPECT_TRUE(errors["shape_error"].is_null());
  }
}

TEST(AccuracyReport, JsonHoldsTheMemoryOfEveryFamilyThatHasAny) {
  MemoryAccuracy memory;
  memory.families = {{"first", {3, 0.1, 0.2, -0.05, {}, {}}, {5, 3, 1, 1}},
                     {"memory alone", {}, {2, 2, 0, 0}},
                     {"nothing measured", {}, {}}};
  memory.total = {3, 0.1, 0.2, -0.05, {}, {}};
  memory.verdicts = {7, 5, 1, 1};
  const json answer = json::parse(accuracy_json(report(), memory));
  ASSERT_EQ(answer["families"].size(), 3U);
  const json expected = json::parse(R"({"n": 3, "median_abs_error": 0.1, "p90_abs_error": 0.2, "bias": -0.05,
      "verdicts": {"n": 5, "right": 3, "false_fit": 1, "false_oom": 1}})");
  EXPECT_EQ(answer["families"][0]["family"], "first");
  EXPECT_EQ(answer["families"][0]["n"], 2);
  EXPECT_EQ(answer["families"][0]["memory"], expected);
  EXPECT_EQ(answer["families"][1]["family"], "memory alone");
  EXPECT_EQ(answer["families"][1]["n"], 0);
  EXPECT_EQ(answer["families"][1]["memory"]["verdicts"]["right"], 2);
  EXPECT_TRUE(answer["families"][2]["memory"].is_null());
  EXPECT_EQ(answer["total"]["memory"]["verdicts"]["n"], 7);
  EXPECT_TRUE(json::parse(accuracy_json(report(), {}))["total"]["memory"].is_null());
}

TEST(AccuracyReport, JsonSurvivesWordsThatAreNotText) {
  AccuracyReport strange = report();
  strange.families[0].family = "\xFF\xFE";
  strange.skipped = {{"precision \xC3", 1}};
  EXPECT_EQ(json::parse(accuracy_json(strange, {}))["families"].size(), 2U);
}

TEST(AccuracyReport, CsvHasALineForEveryRun) {
  EXPECT_EQ(accuracy_csv(report()),
            "id,family,measured_step_s,predicted_step_s,full_recompute_step_s,other_overlap_step_s,error_pct,skipped\n"
            "a-1,first,10,11,,12,9.53,\n"
            "a-2,first,100,80,,,-22.31,\n"
            "b-1,\"second, \"\"new\"\"\",4,3,4.5,,-28.77,\n"
            "b<2>&,\"second, \"\"new\"\"\",5,,,,,ZeRO 3\n");
}

TEST(AccuracyReport, CsvCanBeReadBack) {
  AccuracyReport strange = report();
  strange.runs[0].id = "two\nlines\r\n";
  strange.runs[3].family = "\"";
  strange.rows[3].skipped = "precision a,b";
  const CsvTable table = parse_csv(accuracy_csv(strange), "rows.csv");
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[0].cells[0], "two\nlines\r\n");
  EXPECT_EQ(table.rows[3].cells[1], "\"");
  EXPECT_EQ(table.rows[3].cells[7], "precision a,b");
}

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

/// Every element is closed in the order in which it was opened; "" or what is wrong.
std::string nesting_error(const std::string& html) {
  const std::vector<std::string> without_end{"!doctype", "meta"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return "an element that never ends";
    const std::string inside = html.substr(at + 1, end - at - 1);
    if (inside.find('<') != std::string::npos) return "'<' inside <" + inside;
    if (count(inside, "\"") % 2 != 0) return "quotes do not match in " + inside;
    const bool closing = inside.starts_with('/');
    const std::string name = inside.substr(closing ? 1 : 0, inside.find_first_of(" /", 1) - (closing ? 1 : 0));
    if (closing) {
      if (open.empty() || open.back() != inside.substr(1)) return "</" + name + "> does not match";
      open.pop_back();
    } else if (!inside.ends_with('/') && std::ranges::find(without_end, name) == without_end.end()) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

TEST(AccuracyReport, HtmlIsWellFormedAndHasAPointPerScoredRow) {
  const std::string html = accuracy_html(report());
  EXPECT_EQ(nesting_error(html), "");
  EXPECT_EQ(count(html, "<circle "), 2);  // the bracketed and the skipped row have none
  EXPECT_THAT(html, HasSubstr("<title>a-1 +9.5 %</title>"));
  EXPECT_THAT(html, HasSubstr("first: 2 rows, median 9.5 %"));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

TEST(AccuracyReport, HtmlPutsPointsWhereTheyBelong) {
  // Steps from 10 to 100 s: one decade on 600 pixels from x = 60, y downwards from 660.
  const std::string html = accuracy_html(report());
  const auto x = [](double seconds) { return fmt::format("cx=\"{:.1f}\"", 60 + 600 * std::log10(seconds / 10)); };
  const auto y = [](double seconds) { return fmt::format("cy=\"{:.1f}\"", 660 - 600 * std::log10(seconds / 10)); };
  EXPECT_THAT(html, HasSubstr(x(10) + " " + y(11)));
  EXPECT_THAT(html, HasSubstr(x(100) + " " + y(80)));
}

TEST(AccuracyReport, HtmlEscapesWordsOfTheTable) {
  AccuracyReport strange = report();
  strange.runs[0].id = "<script>&\"";
  strange.families[0].family = strange.runs[0].family = strange.runs[1].family = "<b>";
  const std::string html = accuracy_html(strange);
  EXPECT_EQ(nesting_error(html), "");
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;&amp;&quot;"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_EQ(count(html, "<circle "), 2);
}

TEST(AccuracyReport, HtmlOfNothingIsAnEmptyPlot) {
  const std::string html = accuracy_html({});
  EXPECT_EQ(nesting_error(html), "");
  EXPECT_EQ(count(html, "<circle "), 0);
  EXPECT_THAT(html, Not(HasSubstr("inf")));
}

TEST(AccuracyReport, FamiliesBeyondTheColoursAreRings) {
  AccuracyReport many;
  for (std::size_t i = 0; i < 12; ++i) {
    const std::string family = "family " + std::to_string(i);
    many.runs.push_back(run(family, family, 5));
    many.rows.push_back(row(i, 6, 0.18));
    many.families.push_back({family, {1, 0.18, 0.18, 0.18, {}, {}}, {}});
  }
  const std::string html = accuracy_html(many);
  EXPECT_EQ(count(html, "<circle class=\"dot\""), 10);
  EXPECT_EQ(count(html, "<circle class=\"ring\""), 2);
}

}  // namespace
}  // namespace scenarios
