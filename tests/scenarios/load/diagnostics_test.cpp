#include "scenarios/load/diagnostics.h"

#include <gtest/gtest.h>

#include <string>

namespace scenarios {
namespace {

TEST(DiagnosticsTest, PointsAtThePlaceInItsLine) {
  Diagnostics diagnostics("a.yaml", "model: x\nplan: {tensor: 6}\n");
  diagnostics.error({2, 16}, "'tensor: 6' is wrong", "use 4");
  EXPECT_EQ(diagnostics.print(),
            "a.yaml:2:16: error: 'tensor: 6' is wrong\n"
            "    2 | plan: {tensor: 6}\n"
            "      |                ^ use 4\n");
  EXPECT_TRUE(diagnostics.has_errors());
}

TEST(DiagnosticsTest, OrdersByPlaceAndKeepsWarningsApart) {
  Diagnostics diagnostics("a.yaml", "one\ntwo\n");
  diagnostics.warning({2, 1}, "second", "do this");
  EXPECT_FALSE(diagnostics.has_errors());
  diagnostics.error({1, 2}, "first");
  diagnostics.error({1, 1}, "zeroth");
  diagnostics.error({}, "the whole file");
  EXPECT_EQ(diagnostics.print(),
            "a.yaml: error: the whole file\n"
            "a.yaml:1:1: error: zeroth\n    1 | one\n      | ^\n"
            "a.yaml:1:2: error: first\n    1 | one\n      |  ^\n"
            "a.yaml:2:1: warning: second\n    2 | two\n      | ^ do this\n");
  EXPECT_EQ(diagnostics.warnings(), std::vector<std::string>{"second; do this"});
}

TEST(DiagnosticsTest, OverridesComeLastAndHaveNoLine) {
  Diagnostics diagnostics("a.yaml", "one\n");
  const int number = diagnostics.add_override("--set plan.tensor=6");
  diagnostics.error({0, 0, number}, "wrong", "use 4");
  diagnostics.error({1, 1}, "also wrong");
  EXPECT_EQ(diagnostics.print(),
            "a.yaml:1:1: error: also wrong\n    1 | one\n      | ^\n"
            "--set plan.tensor=6: error: wrong; use 4\n");
}

TEST(DiagnosticsTest, TabsStandAboveTheCaretAsTheyDoInTheLine) {
  Diagnostics diagnostics("a.yaml", "a:\t{b: 1}\r\n");
  diagnostics.error({1, 8}, "wrong");
  EXPECT_EQ(diagnostics.print(), "a.yaml:1:8: error: wrong\n    1 | a:\t{b: 1}\n      |   \t    ^\n");
}

TEST(DiagnosticsTest, ColumnsCountCharactersNotBytes) {
  Diagnostics diagnostics("a.yaml", "\xEF\xBB\xBF\u00e9\u20ac: 1\n");
  diagnostics.error({1, 8}, "wrong");  // the 1 is byte 8 and character 5
  EXPECT_EQ(diagnostics.print(), "a.yaml:1:5: error: wrong\n    1 | \u00e9\u20ac: 1\n      |     ^\n");
}

TEST(DiagnosticsTest, LongLinesAreCutAroundTheCaret) {
  std::string line(1000, 'x');
  line[500] = '!';
  Diagnostics diagnostics("a.yaml", line);
  diagnostics.error({1, 501}, "wrong");
  EXPECT_EQ(diagnostics.print(), "a.yaml:1:501: error: wrong\n    1 | ..." + std::string(60, 'x') + "!" +
                                     std::string(59, 'x') + "...\n      | " + std::string(63, ' ') + "^\n");
}

TEST(DiagnosticsTest, ControlCharactersDoNotReachTheTerminal) {
  Diagnostics diagnostics("a.yaml", "a: \x1b[31m\n");
  diagnostics.error({1, 1}, "bad '\x1b\n'");
  EXPECT_EQ(diagnostics.print(), "a.yaml:1:1: error: bad '?\?'\n    1 | a: ?[31m\n      | ^\n");
}

TEST(DiagnosticsTest, PlacesOutsideTheFileArePrinted) {
  Diagnostics diagnostics("a.yaml", "a\n");
  diagnostics.error({7, 3}, "the end is missing");
  EXPECT_EQ(diagnostics.print(), "a.yaml:7:3: error: the end is missing\n    7 | \n      | ^\n");
}

TEST(DiagnosticsTest, ThousandsOfFindingsAreCounted) {
  Diagnostics diagnostics("a.yaml", "");
  for (int i = 0; i < 60; ++i) diagnostics.error({}, "wrong");
  std::string expected;
  for (int i = 0; i < 50; ++i) expected += "a.yaml: error: wrong\n";
  EXPECT_EQ(diagnostics.print(), expected + "a.yaml: 10 more\n");
}

TEST(DiagnosticsTest, NearestFindsTyposOnly) {
  const std::vector<std::string> keys{"tensor", "pipeline", "data", "zero", "tp"};
  EXPECT_EQ(nearest("tensr", keys), "tensor");
  EXPECT_EQ(nearest("pipelines", keys), "pipeline");
  EXPECT_EQ(nearest("zreo", keys), "zero");
  EXPECT_EQ(nearest("pt", keys), "tp");
  EXPECT_EQ(nearest("TENSOR", keys), "tensor");
  EXPECT_EQ(nearest("colour", keys), std::nullopt);
  EXPECT_EQ(nearest("", keys), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'a'), keys), std::nullopt);
}

TEST(DiagnosticsTest, NearestCompletesTheBeginningOfAName) {
  const std::vector<std::string> gpus{"h100-pcie-80gb", "h100-nvl", "h800", "a10g"};
  EXPECT_EQ(nearest("h100", gpus), "h100-nvl");
  EXPECT_EQ(nearest("H100-PCIe", gpus), "h100-pcie-80gb");
  EXPECT_EQ(nearest("h1", gpus), std::nullopt);
}

TEST(DiagnosticsTest, ShortenedKeepsWholeCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "abc...");
  EXPECT_EQ(shortened("ab\u20ac", 3), "ab...");
}

}  // namespace
}  // namespace scenarios
