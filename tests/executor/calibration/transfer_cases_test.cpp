#include "executor/calibration/transfer_cases.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace executor {
namespace {

TEST(TransferCases, EveryGroupSizeToTheNumberOfRanks) {
  std::set<std::string> names;
  for (const TransferCase& each : transfer_cases(true, 6)) names.insert(each.name());
  for (const char* kind : {"all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "all-to-all"}) {
    for (const char* ranks : {"2", "4", "6"}) EXPECT_TRUE(names.contains(std::string(kind) + " of " + ranks)) << kind;
  }
  EXPECT_TRUE(names.contains("send"));
  EXPECT_EQ(names.size(), 6u * 3 + 1);
}

TEST(TransferCases, BytesRiseWithinAName) {
  const std::vector<TransferCase> cases = transfer_cases(false, 2);
  for (std::size_t i = 1; i < cases.size(); ++i) {
    if (cases[i].name() == cases[i - 1].name()) {
      EXPECT_GT(cases[i].bytes, cases[i - 1].bytes);
    }
  }
}

TEST(TransferCases, OneRankHasNone) { EXPECT_TRUE(transfer_cases(false, 1).empty()); }

}  // namespace
}  // namespace executor
