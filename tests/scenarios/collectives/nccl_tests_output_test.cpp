#include "scenarios/collectives/nccl_tests_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

using testing::HasSubstr;

constexpr const char* kPlain =
    "# nThread 1 nGpus 8 minBytes 8 maxBytes 1048576 step: 2(factor)\n"
    "#  Rank  0 Group  0 Pid   4711 on     host0 device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   4712 on     host0 device  1 [0x43] NVIDIA H100 80GB HBM3\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
    "           8             2     float     sum      -1    12.50    0.00    0.00      0    12.20    0.00    0.00     "
    " 0\n"
    "     1048576        262144     float     sum      -1    26.00   40.33   40.33      0    25.90   40.49   40.49     "
    " 0\n"
    "# Out of bounds values : 0 OK\n";

TEST(NcclTestsOutput, Plain) {
  const NcclTestsOutput output = parse_nccl_tests(kPlain, "out.txt");
  EXPECT_EQ(output.ranks, 2);
  ASSERT_EQ(output.rows.size(), 2U);
  EXPECT_EQ(output.rows[1].bytes, 1048576);
  EXPECT_EQ(output.rows[1].line, 7);
  EXPECT_DOUBLE_EQ(output.rows[1].time_us, 26.0);
  EXPECT_DOUBLE_EQ(output.rows[1].busbw, 40.33);
  EXPECT_EQ(output.rows[0].type, "float");
  ASSERT_NE(output.test, nullptr);
  EXPECT_EQ(output.test->name, "all_reduce");
  EXPECT_TRUE(output.warnings.empty());
}

struct LineCase {
  const char* what;
  std::string line;
  std::int64_t bytes;  ///< 0: no row
  double time_us;
};

TEST(NcclTestsOutput, RowsAmongOtherOutput) {
  const std::string row = "  4096 1024 float sum -1 13.00 0.32 0.55 0 13.1 0.31 0.55 0";
  const std::vector<LineCase> cases{
      {"alone", row, 4096, 13},
      {"carriage return", row + "\r", 4096, 13},
      {"launcher's tag", "[1,0]<stdout>:" + row, 4096, 13},
      {"tag glued to the size", "[1,0]<stdout>:4096 1024 float sum -1 13.00 0.32 0.55 0", 4096, 13},
      {"host before it", "node7: " + row, 4096, 13},
      {"log before it", "node7:99:120 [0] NCCL INFO Channel 00/16 : 0 1 " + row, 4096, 13},
      {"log after it", row + " node7:99:120 [0] NCCL INFO comm 0x5 rank 3", 4096, 13},
      {"no root, older", " 4096 1024 float sum 13.00 0.32 0.55 2e-07 13.1 0.31 0.55 2e-07", 4096, 13},
      {"no root, whole microseconds", " 4096 1024 float sum 13 0.32 0.55 0 13 0.31 0.55 0", 4096, 13},
      {"nothing in place", " 4096 1024 half none -1 13.00 0.32 0.27 N/A", 4096, 13},
      {"large time", " 17179869184 4294967296 float sum -1 1.2e+06 14.3 25.05 0", 17179869184, 1.2e6},
      {"header", "#  size  count  type  redop  root  time  algbw", 0, 0},
      {"empty message", "  0 0 float sum -1 4.2 0.00 0.00 0", 0, 0},
      {"log with numbers", "NCCL INFO 4096 1024 2048 sum", 0, 0},
  };
  for (const LineCase& c : cases) {
    SCOPED_TRACE(c.what);
    const NcclTestsOutput output = parse_nccl_tests("  8 2 float sum -1 10 0.00 0.00 0\n" + c.line + "\n", "o");
    ASSERT_EQ(output.rows.size(), c.bytes == 0 ? 1U : 2U);
    EXPECT_TRUE(output.warnings.empty());
    if (c.bytes == 0) continue;
    EXPECT_EQ(output.rows[1].bytes, c.bytes);
    EXPECT_DOUBLE_EQ(output.rows[1].time_us, c.time_us);
  }
}

TEST(NcclTestsOutput, ACutRowIsLeftOutWithAWarning) {
  const NcclTestsOutput output = parse_nccl_tests(
      "  8 2 float sum -1 10 0.00 0.00 0\n   4096 1024 float sum -1 13.n0de7:99 NCCL INFO x\n", "out.txt");
  EXPECT_EQ(output.rows.size(), 1U);
  ASSERT_EQ(output.warnings.size(), 1U);
  EXPECT_EQ(output.warnings[0], "out.txt:2:4: warning: the row of 4096 bytes is cut by other output; left out");
}

TEST(NcclTestsOutput, OfRepeatedSizesTheFastest) {
  const NcclTestsOutput output =
      parse_nccl_tests("1024 256 float sum -1 12 0.09 0.1 0\n1024 256 float sum -1 10 0.10 0.1 0\n", "o");
  ASSERT_EQ(output.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(output.rows[0].time_us, 10);
}

struct TestCase {
  std::string text;
  const char* name;  ///< null: ambiguous
};

TEST(NcclTestsOutput, WhichCollective) {
  const std::vector<TestCase> cases{
      {"1000000 1 half none -1 10 100 87.5 0\n", nullptr},
      {"# Collective test starting: alltoall_perf\n1000000 1 half none -1 10 100 87.5 0\n", "alltoall"},
      {"1000000 1 half sum -1 10 100 175 0\n", "all_reduce"},
      {"1000000 1 half sum -1 10 100 87.5 0\n", "reduce_scatter"},
      {"1000000 1 half sum 0 10 100 100 0\n", "reduce"},
  };
  for (const TestCase& c : cases) {
    const NcclTestsOutput output = parse_nccl_tests(c.text, "o");
    EXPECT_EQ(output.test, c.name == nullptr ? nullptr : find_collective_test(c.name)) << c.text;
  }
}

TEST(NcclTestsOutput, BadInputIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "o:1:1: error: the file is empty"},
      {"hello\n", "o:1:1: error: no row of nccl-tests"},
      {std::string("8 2 float\n\0", 11), "o:2:1: error: a NUL byte"},
  };
  for (const auto& [text, error] : cases) {
    try {
      parse_nccl_tests(text, "o");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const InputError& refused) {
      EXPECT_THAT(refused.what(), HasSubstr(error));
    }
  }
}

}  // namespace
}  // namespace scenarios
