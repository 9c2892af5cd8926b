#include "scenarios/collectives/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

const std::string kHeader = "system,gpu,gpus,nodes,interconnect,collective,bytes,time_us,source\n";

std::vector<MeasuredCollective> read(const std::string& text) { return read_sweep(parse_csv(text, "s.csv")); }

TEST(Sweep, ReadsRows) {
  const auto rows = read(kHeader +
                         "a,h100-sxm-80gb,16,2,400G IB,all_reduce,1024,12.5,page\n"
                         "b,b200-sxm,2,1,NVLink,reduce_scatter,512,9,tool NCCL 2.29 int8\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].gpus, 16);
  EXPECT_EQ(rows[0].nodes, 2);
  EXPECT_EQ(rows[0].test->name, "all_reduce");
  EXPECT_EQ(rows[0].bytes, 1024);
  EXPECT_EQ(rows[0].time_us, 12.5);
  EXPECT_FALSE(rows[0].int8);
  EXPECT_TRUE(rows[1].int8);
}

TEST(Sweep, BadCellsAreNamedWithTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a,g,0,1,x,all_reduce,8,1,s", "s.csv:2:5: error: '0' in column 'gpus'"},
      {"a,g,x,1,x,all_reduce,8,1,s", "s.csv:2:5: error: 'x' in column 'gpus'"},
      {"a,g,3,2,x,all_reduce,8,1,s", "s.csv:2:5: error: '3' in column 'gpus'\n  expected a multiple of the nodes"},
      {"a,g,8,1,x,gather,8,1,s", "s.csv:2:11: error: 'gather' in column 'collective'"},
      {"a,g,8,1,x,all_reduce,8.5,1,s", "s.csv:2:22: error: '8.5' in column 'bytes'"},
      {"a,g,8,1,x,all_reduce,8,-1,s", "s.csv:2:24: error: '-1' in column 'time_us'"},
      {"a,g,8,1,x,all_reduce,8,nan,s", "s.csv:2:24: error: 'nan' in column 'time_us'"},
      {"a,g,8,1,x,all_reduce,8,,s", "s.csv:2:24: error: '' in column 'time_us'"},
  };
  for (const auto& [row, error] : cases) {
    try {
      read(kHeader + row + "\n");
      ADD_FAILURE() << "accepted: " << row;
    } catch (const InputError& refused) {
      EXPECT_THAT(refused.what(), testing::StartsWith(error));
    }
  }
  EXPECT_THROW(read("system,gpu\na,b\n"), InputError);
}

}  // namespace
}  // namespace scenarios
