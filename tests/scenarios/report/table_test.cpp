#include "scenarios/report/table.h"

#include <gtest/gtest.h>

namespace scenarios {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(table({{"a", "long word", "x"}, {"abc", "b", "y"}}),
            "a    long word  x\n"
            "abc  b          y\n");
}

TEST(Table, NumbersOnTheRight) {
  EXPECT_EQ(table({{"stage", "weights", "reserved"}, {"0", "1.50", "10.25"}, {"1", "12.00", "9.00"}}, 1),
            "stage  weights  reserved\n"
            "0         1.50     10.25\n"
            "1        12.00      9.00\n");
  EXPECT_EQ(table({{"1", "22"}, {"333", "4"}}, 0),
            "  1  22\n"
            "333   4\n");
}

TEST(Table, NoBlanksAtTheEndOfALine) { EXPECT_EQ(table({{"a", "b", ""}, {"c", "", ""}, {"", "", ""}}), "a  b\nc\n\n"); }

TEST(Table, ShortRowsAndNone) {
  EXPECT_EQ(table({{"name", "value"}, {"only"}}), "name  value\nonly\n");
  EXPECT_EQ(table({}), "");
}

}  // namespace
}  // namespace scenarios
