// A measured sweep against what its machine should do, and what may be wrong with it: every known fault is applied to
// the machine, and the one whose prediction fits the measurement best is named.
//
//   percent of expected = 100 x predicted time / measured time
//   misfit of a fault   = mean over the large sizes of |ln (measured / predicted with the fault)|
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw_models/cluster.h"
#include "scenarios/collectives/machine.h"
#include "scenarios/collectives/nccl_tests_output.h"

namespace scenarios {

struct CollectiveFault {
  std::string_view name;   ///< "no-nvls"
  std::string_view cause;  ///< "NVLS is off: ..."
  /// Applies it; false where the machine has nothing of the kind.
  bool (*apply)(hw_models::ClusterSpec& cluster, CollectiveOptions& options);
};
std::span<const CollectiveFault> collective_faults();

struct DiagnosedRow {
  NcclTestsRow measured;
  hw_models::NcclEstimate expected;
  std::string bottleneck;
  double percent = 0;
  std::string cause;  ///< empty: as expected
};

struct Diagnosis {
  const CollectiveTest* test = nullptr;
  int ranks = 0;
  std::vector<DiagnosedRow> rows;
  double large_percent = 0;  ///< median of the large sizes
  std::string fault;         ///< name of the likely fault, or empty
  bool as_expected() const { return large_percent >= 80; }
};

/// Large: from 16 MiB, or the largest three sizes where there are none.
Diagnosis diagnose(const NcclTestsOutput& output, const CollectiveTest& test, const hw_models::ClusterSpec& cluster,
                   int gpus, const CollectiveOptions& options);

std::string diagnosis_text(const Diagnosis& diagnosis);
std::string diagnosis_json(const Diagnosis& diagnosis);

}  // namespace scenarios
