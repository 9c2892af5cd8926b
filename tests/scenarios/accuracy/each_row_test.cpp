#include "scenarios/accuracy/each_row.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace scenarios {
namespace {

TEST(EachRow, IsPredictedOnce) {
  for (const std::size_t rows : {0U, 1U, 2U, 1000U}) {
    std::vector<int> calls(rows);
    for_each_row(rows, [&](std::size_t row) { ++calls[row]; });
    EXPECT_EQ(calls, std::vector<int>(rows, 1));
  }
}

TEST(EachRow, TheLowestThatFailsIsReportedAfterAllOthers) {
  std::vector<int> calls(100);
  try {
    for_each_row(calls.size(), [&](std::size_t row) {
      ++calls[row];
      if (row % 30 == 7) throw std::runtime_error("row " + std::to_string(row));
    });
    FAIL() << "nothing thrown";
  } catch (const std::runtime_error& failure) {
    EXPECT_STREQ(failure.what(), "row 7");
  }
  EXPECT_EQ(calls, std::vector<int>(100, 1));
}

}  // namespace
}  // namespace scenarios
