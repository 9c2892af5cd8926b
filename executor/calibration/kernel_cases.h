// What is measured of the CPU backend's kernels: the kinds of hw_models/measured_kernels.h, each over a grid of sizes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "executor/calibration/case_memory.h"
#include "executor/cpu/kernels.h"

namespace executor {

using Sizes = std::vector<std::int64_t>;

struct KernelCase {
  std::string_view kind;
  std::vector<Sizes> axes;  ///< ascending
  /// Multiplies and adds, or elements, at these sizes: what of the grid is too much is not measured.
  double (*work)(const Sizes& sizes);
  double most_work;
  void (*run)(const cpu::Kernels<float>& kernels, const Sizes& sizes, CaseMemory& memory);
  double repeats = 1;  ///< of what the grid gives the time of: heads
};

/// One per kind, in order of their names. `quick`: smaller sizes only.
std::vector<KernelCase> kernel_cases(bool quick);

/// All points of the grid, the last axis fastest.
std::vector<Sizes> grid_points(const KernelCase& kernel_case);

}  // namespace executor
