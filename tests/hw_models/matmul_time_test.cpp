// Matmuls in narrow formats: closed forms of the tile model on an H100 whose measured figures are round.
#include <gtest/gtest.h>

#include "hw_models/kernel_time.h"

namespace hw_models {
namespace {

constexpr std::size_t index(DType dtype) { return static_cast<std::size_t>(dtype); }

/// 128 multiprocessors, so that powers of two fill whole waves. fp8 at twice bf16's peak, 0.7 against 0.8 of it.
GpuSpec gpu() {
  GpuSpec gpu;
  gpu.multiprocessors = 128;
  gpu.matrix_peak[index(DType::kBf16)] = FlopsPerSecond(1e15);
  gpu.matrix_peak[index(DType::kFp8)] = FlopsPerSecond(2e15);
  gpu.matrix_peak[index(DType::kNvfp4)] = FlopsPerSecond(4e15);
  gpu.memory_bandwidth = BytesPerSecond(4e12);
  gpu.matrix_efficiency = 0.8;
  gpu.relative_efficiency[index(DType::kFp8)] = 0.7 / 0.8;
  return gpu;
}

double work_seconds(std::int64_t size, std::int64_t k, DType dtype) {
  return kernel_cost(Matmul{.m = size, .n = size, .k = k, .dtype = dtype}, gpu()).time.value() - 1.5e-6;
}

// 16,384 squared are 64 whole waves of 256 x 128 tiles: time = 64 x 2 x 256 x 128 (k + 96 w) / (rate / 128), and w = 2
// for fp8: speed-up = 2 x 0.7 / 0.8 x (k + 96) / (k + 192).
TEST(NarrowMatmul, LargeSquareGainsTheRatioOfTheRates) {
  constexpr double k = 16384;
  const double bf16 = work_seconds(16384, 16384, DType::kBf16), fp8 = work_seconds(16384, 16384, DType::kFp8);
  EXPECT_NEAR(bf16, 64 * 2 * 256 * 128 * (k + 96) / (1e15 * 0.8 / 128), 1e-9);
  EXPECT_NEAR(bf16 / fp8, 2 * 0.7 / 0.8 * (k + 96) / (k + 192), 1e-9);
}

// Filling a block takes as long in any format, so that a short k gains little.
TEST(NarrowMatmul, ShortProductsGainLess) {
  double previous = 0;
  for (const std::int64_t k : {256, 512, 1024, 4096, 16384}) {
    const double gain = work_seconds(16384, k, DType::kBf16) / work_seconds(16384, k, DType::kFp8);
    EXPECT_GT(gain, previous) << k;
    EXPECT_LT(gain, 2 * 0.7 / 0.8) << k;
    previous = gain;
  }
}

// Operands of 1 + 1/32 and 1/2 + 1/16 bytes, a bf16 result.
TEST(NarrowMatmul, TrafficCountsNarrowOperandsAndTheirScales) {
  struct Case {
    DType dtype;
    double operand_bytes;
  };
  for (const Case& c : {Case{DType::kBf16, 2}, Case{DType::kFp8, 1}, Case{DType::kNvfp4, 0.5625}}) {
    const KernelCost cost = kernel_cost(Matmul{.m = 1024, .n = 2048, .k = 4096, .dtype = c.dtype}, gpu());
    EXPECT_EQ(cost.traffic.value(),
              static_cast<std::int64_t>(c.operand_bytes * 4096 * (1024 + 2048) + 2.0 * 1024 * 2048));
  }
  EXPECT_DOUBLE_EQ(info(DType::kMxfp8).bytes, 33.0 / 32);
}

// A format without a figure of its own reaches the same share of its peak.
TEST(NarrowMatmul, EfficiencyIsTheFormatsOwnOrTheGpus) {
  EXPECT_DOUBLE_EQ(gpu().efficiency(DType::kFp8), 0.7);
  EXPECT_DOUBLE_EQ(gpu().efficiency(DType::kNvfp4), 0.8);
  GpuSpec slow = gpu();
  slow.matrix_efficiency /= 2;  // what slows all products slows these
  EXPECT_DOUBLE_EQ(slow.efficiency(DType::kFp8), 0.35);
}

}  // namespace
}  // namespace hw_models
