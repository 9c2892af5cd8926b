// Measured collectives: one row per (system, collective, size).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/accuracy/csv.h"
#include "scenarios/collectives/collective_test.h"

namespace scenarios {

struct MeasuredCollective {
  std::string system, gpu, interconnect, source;
  int gpus = 0, nodes = 0;
  const CollectiveTest* test = nullptr;
  std::int64_t bytes = 0;
  double time_us = 0;
  bool int8 = false;  ///< the source says so: switches cannot add it
};

/// Columns: system, gpu, gpus, nodes, interconnect, collective, bytes, time_us, source; others are ignored. Throws
/// InputError naming file, line and column.
std::vector<MeasuredCollective> read_sweep(const CsvTable& table);

}  // namespace scenarios
