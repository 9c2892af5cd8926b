#include "scenarios/accuracy/csv.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

using Strings = std::vector<std::string>;
using namespace std::string_view_literals;

std::string refusal(std::string_view text) {
  try {
    parse_csv(text, "t.csv");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

struct Accepted {
  const char* what;
  std::string_view text;
  Strings columns;
  std::vector<Strings> rows;
};

const Accepted kAccepted[] = {
    {"plain", "a,b\n1,2\n3,4\n", {"a", "b"}, {{"1", "2"}, {"3", "4"}}},
    {"no line end at the end", "a,b\n1,2", {"a", "b"}, {{"1", "2"}}},
    {"header only", "a,b", {"a", "b"}, {}},
    {"empty cells", "a,b,c\n,,\n1,,", {"a", "b", "c"}, {{"", "", ""}, {"1", "", ""}}},
    {"an empty cell at the very end", "a,b\n1,", {"a", "b"}, {{"1", ""}}},
    {"quotes", "a,\"b\"\n\"1,2\",\"\"\n", {"a", "b"}, {{"1,2", ""}}},
    {"doubled quotes", "a,b\n\"say \"\"yes\"\"\",\"\"\"\"\n", {"a", "b"}, {{"say \"yes\"", "\""}}},
    {"line breaks in quotes", "a,b\n\"1\n2\",\"3\r\n4\"\n", {"a", "b"}, {{"1\n2", "3\r\n4"}}},
    {"CR LF", "a,b\r\n1,2\r\n\r\n3,\"4\"\r\n", {"a", "b"}, {{"1", "2"}, {"3", "4"}}},
    {"byte order mark", "\xEF\xBB\xBF\"a\",b\n1,2\n", {"a", "b"}, {{"1", "2"}}},
    {"empty lines", "a,b\n\n1,2\n\n\n3,4\n\n", {"a", "b"}, {{"1", "2"}, {"3", "4"}}},
    {"blanks are kept", "a,b\n 1 ,\t2\n", {"a", "b"}, {{" 1 ", "\t2"}}},
    {"other alphabets", "a\xC3\xA9,b\n\xE2\x86\x92,2\n", {"a\xC3\xA9", "b"}, {{"\xE2\x86\x92", "2"}}},
};

TEST(Csv, Accepts) {
  for (const Accepted& each : kAccepted) {
    SCOPED_TRACE(each.what);
    const CsvTable table = parse_csv(each.text, "t.csv");
    EXPECT_EQ(table.file, "t.csv");
    EXPECT_EQ(table.columns, each.columns);
    std::vector<Strings> rows;
    for (const CsvRow& row : table.rows) rows.push_back(row.cells);
    EXPECT_EQ(rows, each.rows);
  }
}

struct Refused {
  const char* what;
  std::string_view text, message;
};

constexpr Refused kRefused[] = {
    {"nothing", "", "t.csv:1:1: error: the file is empty\n  a table begins with a line of column names\n"},
    {"a byte order mark alone", "\xEF\xBB\xBF",
     "t.csv:1:1: error: the file is empty\n  a table begins with a line of column names\n"},
    {"an empty first line", "\na,b\n", "t.csv:1:1: error: a column has no name\n  name every column\n"},
    {"a column without a name", "a,,b\n", "t.csv:1:1: error: a column has no name\n  name every column\n"},
    {"a column twice", "a,b,a\n", "t.csv:1:1: error: column 'a' stands twice\n  rename one of them\n"},
    {"too few cells", "a,b,c\n1,2,3\n1,2\n",
     "t.csv:3:1: error: the row has 2 cells, the header 3\n  a comma inside a cell needs quotes\n"},
    {"too many cells", "a,b\n\n1,2,3\n",
     "t.csv:3:1: error: the row has 3 cells, the header 2\n  a comma inside a cell needs quotes\n"},
    {"too many cells, after a cell of two lines", "a,b\n\"x\ny\",2\n1,2,3\n",
     "t.csv:4:1: error: the row has 3 cells, the header 2\n  a comma inside a cell needs quotes\n"},
    {"a quote never closed", "a,b\n1,\"2\n3,4\n",
     "t.csv:2:3: error: the quote is never closed\n  end the cell with a quote\n"},
    {"a quote inside a cell", "a,b\n1,2\"3\n",
     "t.csv:2:4: error: a quote inside an unquoted cell\n  quote the whole cell and double its quotes\n"},
    {"text after a quote", "a,b\n\"1\"2,3\n",
     "t.csv:2:5: error: text after a closing quote\n  double the quotes inside a cell: \"\"\n"},
    {"a NUL byte", "a,b\n1,\0\n"sv, "t.csv:2:3: error: a NUL byte\n  this is not a text file\n"},
    {"a NUL byte in quotes", "a,b\n\"1\0\",2\n"sv, "t.csv:2:3: error: a NUL byte\n  this is not a text file\n"},
    {"an old line end", "a,b\r1,2\r",
     "t.csv:1:5: error: a carriage return without a line feed\n  end lines with LF or CR LF\n"},
};

TEST(Csv, RefusesWithPlaceAndWayOut) {
  for (const Refused& each : kRefused) EXPECT_EQ(refusal(each.text), each.message) << each.what;
}

std::string names(int columns) {
  std::string text = "c0";
  for (int i = 1; i < columns; ++i) text += ",c" + std::to_string(i);
  return text;
}

TEST(Csv, AThousandColumnsAreEnough) {
  EXPECT_EQ(parse_csv(names(1000), "t.csv").columns.size(), 1000U);
  // 10 x 3 + 90 x 4 + 900 x 5 characters, commas counted, stand before the name that is too many.
  EXPECT_EQ(refusal(names(1001)), "t.csv:1:4891: error: more than 1000 columns\n  is this the table?\n");
  EXPECT_EQ(refusal(names(1'000'000)), "t.csv:1:4891: error: more than 1000 columns\n  is this the table?\n");
  EXPECT_EQ(refusal("a,b\n" + std::string(1'000'000, ',')),
            "t.csv:2:1001: error: more than 1000 columns\n  is this the table?\n");
}

TEST(Csv, LongNamesAreCutInMessages) {
  const std::string name(100'000, 'x');
  EXPECT_LT(refusal(name + "," + name).size(), 150U);
}

TEST(Csv, RowsKnowTheirLines) {
  const CsvTable table = parse_csv("a,b\n1,2\n\n\"x\n\ny\",2\n3,4", "t.csv");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0].line, 2);
  EXPECT_EQ(table.rows[1].line, 4);
  EXPECT_EQ(table.rows[2].line, 7);
}

TEST(Csv, FindsColumnsByTheirWholeName) {
  const CsvTable table = parse_csv("gpus,gpu\n", "t.csv");
  EXPECT_EQ(table.find("gpu"), 1U);
  EXPECT_EQ(table.find("gp"), std::nullopt);
}

}  // namespace
}  // namespace scenarios
