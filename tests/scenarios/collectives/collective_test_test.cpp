#include "scenarios/collectives/collective_test.h"

#include <gtest/gtest.h>

#include <map>
#include <string_view>

namespace scenarios {
namespace {

TEST(CollectiveTest, BusFactorsOfEightRanks) {
  const std::map<std::string_view, double> factors{
      {"all_reduce", 1.75}, {"all_gather", 0.875}, {"reduce_scatter", 0.875}, {"broadcast", 1}, {"reduce", 1},
      {"alltoall", 0.875},  {"sendrecv", 1}};
  ASSERT_EQ(factors.size(), kCollectiveTests.size());
  for (const CollectiveTest& test : kCollectiveTests) EXPECT_EQ(bus_factor(test, 8), factors.at(test.name));
}

TEST(CollectiveTest, SpellingsOfANameAreOne) {
  EXPECT_EQ(find_collective_test("all-to-all"), find_collective_test("alltoall"));
  EXPECT_EQ(find_collective_test("allreduce"), find_collective_test("all_reduce"));
  EXPECT_EQ(find_collective_test("gather"), nullptr);
  EXPECT_EQ(find_collective_test(""), nullptr);
}

}  // namespace
}  // namespace scenarios
