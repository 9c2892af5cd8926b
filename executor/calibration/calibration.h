// Measures this machine: what `trainyard calibrate` writes.
//
// Kernels: time of the processor as the process saw it (CPU time), so that other programs distort little; once with the
// other cores idle and once while they all run the same kernel. Collectives and messages: elapsed time. Every round
// visits every case; rounds repeat until the time is up; the tables hold the medians.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "executor/calibration/machine_state.h"
#include "executor/calibration/statistics.h"
#include "hw_models/measured_kernels.h"
#include "hw_models/measured_transfers.h"
#include "strategies/program/program.h"

namespace executor {

struct CalibrationChoice {
  bool quick = false;         ///< small sizes only
  double most_seconds = 150;  ///< no round starts that would end later; one is made in any case
  /// One rank, kernels as small as can be: tells what an operation costs around them. nullptr: nothing is told.
  const strategies::Program* small_program = nullptr;
  std::int64_t small_sequence = 0;  ///< its sequence length
  std::function<void(double share)> progress = [](double) {};
};

/// How well one kind is known: over its points.
struct Quality {
  std::string kind;       ///< "matmul-nn", "all-reduce of 2", "send"
  double confidence = 0;  ///< median half width of the 95 % interval, over the median
  double variation = 0;   ///< median coefficient of variation
  double worst_variation = 0;
};

struct Calibration {
  MachineState before, after;
  std::string instructions;  ///< of the kernels: "x86-64-v3"
  int rounds = 0;
  double seconds = 0;
  double waited = 0;  ///< share of the kernels' elapsed time in which they had no core
  hw_models::MeasuredKernels kernels;
  hw_models::MeasuredTransfers transfers;
  std::vector<Quality> quality;  ///< kernels, then transfers, in the order of the tables
};

/// Median coefficient of variation over everything measured.
double typical_variation(const Calibration& calibration);

Calibration calibrate(const CalibrationChoice& choice);

}  // namespace executor
