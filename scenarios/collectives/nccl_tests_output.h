// The output of a real nccl-tests run (all_reduce_perf and its siblings), as it comes out of a job: log lines of NCCL
// and of launchers between its rows, rank tags before them.
//
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw
//   #wrong
//           8             2     float     sum      -1    12.34    0.00    0.00      0    12.20    0.00    0.00      0
//
// A row is recognised anywhere in a line by its words: size, count, type, operation, perhaps a root, then time and both
// bandwidths out of place. What follows them is not read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/collectives/collective_test.h"

namespace scenarios {

struct NcclTestsRow {
  int line = 0;
  std::int64_t bytes = 0;
  std::string type, reduction;  ///< "float", "sum"
  double time_us = 0, algbw = 0, busbw = 0;
};

struct NcclTestsOutput {
  std::string file;
  std::vector<NcclTestsRow> rows;        ///< by size, one per size: the fastest
  int ranks = 0;                         ///< devices listed; 0 = none are
  const CollectiveTest* test = nullptr;  ///< named or told by the bandwidths; null = ambiguous
  std::vector<std::string> warnings;     ///< "FILE:7:3: warning: ..." for rows that other output cut
};

/// Throws InputError naming file:line:column when there is no row at all, or the text is not text.
NcclTestsOutput parse_nccl_tests(std::string_view text, const std::string& file);

}  // namespace scenarios
