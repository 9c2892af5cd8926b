// One accelerator as its data sheet and its driver describe it.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "hw_models/dtype.h"
#include "hw_models/measured_kernels.h"
#include "hw_models/units.h"

namespace hw_models {

/// Dense peaks only (never with sparsity). Source of every figure: the `source` lines of its catalogue file.
struct GpuSpec {
  std::string name;  ///< catalogue name, e.g. "h100-sxm-80gb"
  std::string vendor, architecture;
  int multiprocessors = 1;  ///< SMs or CUs
  double boost_clock_hz = 0;
  std::array<FlopsPerSecond, kDTypes.size()> matrix_peak{};  ///< by DType; 0 = not supported
  FlopsPerSecond vector_peak{};                              ///< fp32 outside the matrix units
  Bytes memory{};  ///< what the driver reports as total, not the marketing figure
  BytesPerSecond memory_bandwidth{};
  Bytes l2{};
  double matrix_efficiency = 0.8;  ///< best measured dense matmul over peak, (0, 1]
  /// By DType: a format's best measured matmul over its peak, over matrix_efficiency; 0 = as matrix_efficiency.
  std::array<double, kDTypes.size()> relative_efficiency{};
  bool fp8_any_layout = false;      ///< fp8 products take operands in every layout; else k must be contiguous in both
  double sustained_clock = 1;       ///< clock of matrix products under minutes of full power over a burst's, (0, 1]
  double speed_spread = 0;          ///< mean lag of a chip behind the fastest, over the mean time (jitter.h)
  double memory_efficiency = 0.85;  ///< best measured streaming bandwidth over peak, (0, 1]
  double misaligned_efficiency = 0.6;  ///< batched half-precision products of misaligned heads over vector peak, (0, 1]
  Watts idle_power{}, active_power{};  ///< per GPU; active = board power limit
  std::optional<MeasuredKernels> measured;  ///< of this very machine; prices what it holds
  double busy_neighbours = 0;               ///< at work, over those of `measured`'s `together`; [0, 1]

  bool operator==(const GpuSpec&) const = default;
  FlopsPerSecond peak(DType dtype) const { return matrix_peak[static_cast<std::size_t>(dtype)]; }
  double efficiency(DType dtype) const {
    const double relative = relative_efficiency[static_cast<std::size_t>(dtype)];
    return matrix_efficiency * (relative > 0 ? relative : 1);
  }
};

}  // namespace hw_models
