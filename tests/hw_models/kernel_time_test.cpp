#include "hw_models/kernel_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace hw_models {
namespace {

constexpr double kRampSeconds = 1.5e-6;
constexpr double kRampDepth = 96;

/// Figures of the NVIDIA A100 SXM 80 GB data sheet; best matmul 271.2 TFLOP/s (ml-engineering, "MAMF").
GpuSpec a100() {
  GpuSpec gpu;
  gpu.name = "a100";
  gpu.multiprocessors = 108;
  gpu.matrix_peak[static_cast<std::size_t>(DType::kBf16)] = FlopsPerSecond(312e12);
  gpu.matrix_peak[static_cast<std::size_t>(DType::kFp16)] = FlopsPerSecond(312e12);
  gpu.vector_peak = FlopsPerSecond(19.5e12);
  gpu.memory_bandwidth = BytesPerSecond(2.039e12);
  gpu.matrix_efficiency = 271.2 / 312;
  gpu.memory_efficiency = 0.85;
  return gpu;
}

/// NVIDIA H100 SXM data sheet; best matmul 794.5 TFLOP/s (same source).
GpuSpec h100() {
  GpuSpec gpu = a100();
  gpu.name = "h100";
  gpu.multiprocessors = 132;
  gpu.matrix_peak[static_cast<std::size_t>(DType::kBf16)] = FlopsPerSecond(989.4e12);
  gpu.memory_bandwidth = BytesPerSecond(3.35e12);
  gpu.matrix_efficiency = 794.5 / 989.4;
  return gpu;
}

double seconds(const Kernel& kernel, const GpuSpec& gpu) { return kernel_cost(kernel, gpu).time.value(); }

TEST(MatmulTime, FullWaveOfLargeTilesRunsAtTheBestMeasuredRate) {
  const GpuSpec gpu = a100();
  // 108 tiles of 256 x 128: one wave, no tail.
  const Matmul matmul{.m = 256 * 12, .n = 128 * 9, .k = 16384};
  const KernelCost cost = kernel_cost(matmul, gpu);
  EXPECT_DOUBLE_EQ(cost.flops.value(), 2.0 * 256 * 12 * 128 * 9 * 16384);
  const double ideal = cost.flops.value() / (312e12 * gpu.matrix_efficiency);
  const double fill = (16384 + kRampDepth) / 16384;
  EXPECT_NEAR(cost.time.value(), kRampSeconds + ideal * fill, 1e-9 * ideal);
  EXPECT_FALSE(cost.memory_bound);
}

TEST(MatmulTime, OneRowTooManyCostsASecondWave) {
  const GpuSpec gpu = a100();
  // 12 x 9 tiles of 64 x 64 fill the 108 multiprocessors once; k is too short for splitting it to pay.
  const double full = seconds(Matmul{.m = 64 * 12, .n = 64 * 9, .k = 2048}, gpu) - kRampSeconds;
  const double one_more = seconds(Matmul{.m = 64 * 12 + 1, .n = 64 * 9, .k = 2048}, gpu) - kRampSeconds;
  EXPECT_NEAR(one_more / full, 2, 0.05);
}

TEST(MatmulTime, SkinnyMatmulIsBoundByItsOperands) {
  const GpuSpec gpu = h100();
  const Matmul matmul{.m = 16, .n = 16384, .k = 16384};
  const KernelCost cost = kernel_cost(matmul, gpu);
  const double bytes = 2.0 * (16.0 * 16384 + 16384.0 * 16384 + 16.0 * 16384);
  EXPECT_EQ(cost.traffic.value(), static_cast<std::int64_t>(bytes));
  EXPECT_TRUE(cost.memory_bound);
  EXPECT_NEAR(cost.time.value(), kRampSeconds + bytes / (3.35e12 * 0.85), 1e-12);
}

TEST(MatmulTime, SplittingKFillsTheDevice) {
  const GpuSpec gpu = a100();
  // A weight gradient of 16 tiles over a long k would leave 92 multiprocessors idle.
  const Matmul matmul{.m = 512, .n = 1024, .k = 131072};
  const double one_wave_of_small_tiles = 2.0 * 64 * 64 * 131072 / (312e12 * gpu.matrix_efficiency / 108);
  EXPECT_LT(seconds(matmul, gpu), one_wave_of_small_tiles * 1.35);
  EXPECT_GT(seconds(matmul, gpu), kernel_cost(matmul, gpu).flops.value() / (312e12 * gpu.matrix_efficiency));
}

TEST(MatmulTime, AccumulationReadsTheOutput) {
  const GpuSpec gpu = a100();
  Matmul matmul{.m = 1024, .n = 1024, .k = 1024, .output = DType::kFp32};
  const std::int64_t once = kernel_cost(matmul, gpu).traffic.value();
  matmul.accumulate = true;
  EXPECT_EQ(kernel_cost(matmul, gpu).traffic.value() - once, 4 * 1024 * 1024);
}

TEST(MatmulTime, GrowsWithEverySize) {
  std::mt19937 random(7);
  for (const GpuSpec& gpu : {a100(), h100()}) {
    for (int trial = 0; trial < 500; ++trial) {
      const auto size = [&] { return static_cast<std::int64_t>(1 + random() % (1U << (1 + random() % 16))); };
      const Matmul base{.m = size(), .n = size(), .k = size(), .batch = 1 + size() % 8};
      const auto more = static_cast<std::int64_t>(random() % 300);
      std::vector<Matmul> larger(4, base);
      larger[0].m += more;
      larger[1].n += more;
      larger[2].k += more;
      larger[3].batch += more;
      for (const Matmul& matmul : larger) {
        EXPECT_GE(seconds(matmul, gpu), seconds(base, gpu)) << base.m << ' ' << base.n << ' ' << base.k << " +" << more;
      }
    }
  }
}

struct MeasuredMatmul {
  std::int64_t m, n, k;
  double microseconds;
};

/// Shapes of the public aiconfigurator sweeps (bf16); 1 us stands for the gap between kernels.
TEST(MatmulTime, IsNearPublishedMeasurements) {
  const std::vector<MeasuredMatmul> a100_rows{{8192, 65536, 16384, 65574.7}, {4096, 7168, 1024, 264.26},
                                              {4096, 1536, 4096, 206.029},   {2048, 5120, 3072, 237.568},
                                              {768, 16384, 3584, 366.421},   {4096, 5120, 16384, 2536.58}};
  const std::vector<MeasuredMatmul> h100_rows{{1024, 1536, 8192, 35.748},     {8192, 512, 1536, 19.718},
                                              {16384, 7168, 51200, 16663.8},  {3585, 12288, 2560, 282.619},
                                              {1280, 3072, 51200, 556.896},   {16384, 768, 8192, 257.86},
                                              {32768, 51200, 51200, 243815.0}};
  for (const MeasuredMatmul& row : a100_rows) {
    const double predicted = seconds(Matmul{.m = row.m, .n = row.n, .k = row.k}, a100()) * 1e6 + 1;
    EXPECT_NEAR(predicted / row.microseconds, 1, 0.16) << row.m << ' ' << row.n << ' ' << row.k;
  }
  for (const MeasuredMatmul& row : h100_rows) {
    const double predicted = seconds(Matmul{.m = row.m, .n = row.n, .k = row.k}, h100()) * 1e6 + 1;
    EXPECT_NEAR(predicted / row.microseconds, 1, 0.16) << row.m << ' ' << row.n << ' ' << row.k;
  }
}

TEST(MatmulTime, Fp32WithoutMatrixUnitsUsesTheVectorUnits) {
  const GpuSpec gpu = a100();
  const Matmul matmul{.m = 4096, .n = 4096, .k = 4096, .dtype = DType::kFp32, .output = DType::kFp32};
  EXPECT_GT(seconds(matmul, gpu), 2.0 * 4096 * 4096 * 4096 / 19.5e12);
}

TEST(MatmulTime, UnsupportedFormatIsRefused) {
  EXPECT_THROW(kernel_cost(Matmul{.dtype = DType::kFp8}, a100()), std::invalid_argument);
}

Attention attention(std::int64_t length) {
  return {.batch = 1,
          .heads = 32,
          .kv_heads = 8,
          .query_length = length,
          .key_length = length,
          .head_dim = 128,
          .value_dim = 128};
}

double rate_over_peak(const Attention& shape, const GpuSpec& gpu) {
  const KernelCost cost = kernel_cost(shape, gpu);
  return cost.flops.value() / cost.time.value() / gpu.peak(shape.dtype).value();
}

TEST(AttentionTime, FlopsFollowTheKernelThatRuns) {
  const double square = 4.0 * 32 * 4096 * 4096 * 128;
  Attention shape = attention(4096);
  EXPECT_DOUBLE_EQ(kernel_cost(shape, a100()).flops.value(), square / 2);
  shape.backward = true;
  EXPECT_DOUBLE_EQ(kernel_cost(shape, a100()).flops.value(), 2.5 * square / 2);
  shape.kernel = AttentionKernel::kUnfused;
  EXPECT_DOUBLE_EQ(kernel_cost(shape, a100()).flops.value(), 2 * square);
  shape.causal = false;
  EXPECT_DOUBLE_EQ(kernel_cost(shape, a100()).flops.value(), 2 * square);
}

/// Keys that the queries of a causal rectangle see, one by one: the last query sees all, none more than the window.
double seen_scores(std::int64_t queries, std::int64_t keys, std::int64_t window) {
  double seen = 0;
  for (std::int64_t query = 0; query < queries; ++query) {
    const double all = static_cast<double>(keys - queries + query) + 0.5;  // half of its own
    seen += std::min(all, static_cast<double>(window));
  }
  return seen;
}

TEST(AttentionTime, AWindowLeavesABand) {
  for (const auto& [queries, keys] : {std::pair{4096, 4096}, std::pair{1024, 4096}, std::pair{256, 2048}}) {
    for (const std::int64_t window : {64, 512, 1000, 3072, 4000}) {
      Attention shape = attention(queries);
      shape.key_length = keys;
      shape.window = window;
      const double flops = 4.0 * 32 * 128 * seen_scores(queries, keys, std::min<std::int64_t>(window, keys));
      EXPECT_NEAR(kernel_cost(shape, h100()).flops.value() / flops, 1, 1e-3) << queries << ' ' << keys << ' ' << window;
    }
  }
}

TEST(AttentionTime, AWindowOfTheWholeSequenceChangesNothing) {
  Attention shape = attention(4096);
  const KernelCost whole = kernel_cost(shape, h100());
  for (const std::int64_t window : {4096, 5000}) {
    shape.window = window;
    EXPECT_EQ(kernel_cost(shape, h100()).time, whole.time);
    EXPECT_EQ(kernel_cost(shape, h100()).flops, whole.flops);
  }
}

// Compute-bound and without a ramp, time is in the ratio of visited keys: a full window of w keys visits w + 128.
TEST(AttentionTime, AFlashKernelVisitsWholeTilesOfAWindow) {
  Attention shape = attention(65536);
  const double ramp = kernel_cost(Elementwise{}, h100()).time.value();
  const double whole = kernel_cost(shape, h100()).time.value() - ramp;
  const double s = 65536;
  for (const double w : {1024.0, 4096.0, 16384.0}) {
    shape.window = static_cast<std::int64_t>(w);
    const double visited = w * s - w * w / 2 + (s - w) * 128;
    EXPECT_NEAR((kernel_cost(shape, h100()).time.value() - ramp) / whole, visited / (s * s / 2), 1e-4) << w;
  }
}

TEST(AttentionTime, UnfusedAttentionComputesTheSquareWhateverTheWindow) {
  Attention shape = attention(2048);
  shape.kernel = AttentionKernel::kUnfused;
  const KernelCost whole = kernel_cost(shape, a100());
  shape.window = 128;
  EXPECT_EQ(kernel_cost(shape, a100()).time, whole.time);
}

// Latent attention: queries and keys of 192, values of 128.
TEST(AttentionTime, ValuesMayBeNarrowerThanKeys) {
  Attention shape = attention(4096);
  shape.kv_heads = shape.heads = 64;
  shape.head_dim = 192;
  const KernelCost latent = kernel_cost(shape, h100());
  EXPECT_DOUBLE_EQ(latent.flops.value(), 64.0 * 4096 * 4096 * (192 + 128));
  // Q, K of 192 and V, O of 128 columns, 2 bytes each.
  EXPECT_EQ(latent.traffic.value(), 2 * 64 * 4096 * (2 * 192 + 2 * 128));
  // FlashAttention-2 pads values to the width of the keys.
  shape.kernel = AttentionKernel::kFlash2;
  const double padded = kernel_cost(shape, a100()).time.value();
  EXPECT_EQ(kernel_cost(shape, a100()).flops, latent.flops);
  shape.kernel = AttentionKernel::kFlash;
  EXPECT_NEAR((padded - 1.5e-6) / (kernel_cost(shape, a100()).time.value() - 1.5e-6), 384.0 / 320, 1e-9);
}

struct FlashRate {
  GpuSpec gpu;
  std::int64_t heads;
  bool backward;
  double low, high;  ///< share of peak
};

/// A100: SimuMax profile at 4,096 tokens. H100: FlashAttention-3 paper, causal, head size 128.
TEST(AttentionTime, FlashRatesAreNearPublishedOnes) {
  const std::vector<FlashRate> rates{{a100(), 64, false, 0.55, 0.63}, {a100(), 64, true, 0.46, 0.54},
                                     {a100(), 16, false, 0.45, 0.55}, {a100(), 16, true, 0.40, 0.48},
                                     {h100(), 64, false, 0.48, 0.62}, {h100(), 64, true, 0.40, 0.55}};
  for (const FlashRate& rate : rates) {
    Attention shape = attention(4096);
    shape.heads = rate.heads;
    shape.backward = rate.backward;
    const double reached = rate_over_peak(shape, rate.gpu);
    EXPECT_GE(reached, rate.low) << rate.gpu.name << ' ' << rate.heads << ' ' << rate.backward;
    EXPECT_LE(reached, rate.high) << rate.gpu.name << ' ' << rate.heads << ' ' << rate.backward;
  }
}

TEST(AttentionTime, SmallHeadsAreSlowerPerFlop) {
  Attention narrow = attention(4096);
  narrow.head_dim = narrow.value_dim = 64;
  const double loss = rate_over_peak(narrow, a100()) / rate_over_peak(attention(4096), a100());
  EXPECT_GT(loss, 0.7);
  EXPECT_LT(loss, 0.9);
}

/// FlashAttention-2 keeps up on the GPU it was written for; on H100 it reaches 0.62 of what the instructions of Hopper
/// do.
TEST(AttentionTime, OlderFlashKernelIsHeldBackByNewerGpus) {
  for (const bool backward : {false, true}) {
    Attention own = attention(8192);
    own.backward = backward;
    Attention older = own;
    older.kernel = AttentionKernel::kFlash2;
    EXPECT_DOUBLE_EQ(rate_over_peak(older, a100()), rate_over_peak(own, a100()));
    EXPECT_NEAR(rate_over_peak(older, h100()) / rate_over_peak(own, h100()), 4.65e12 * 132 / 989e12, 0.005);
  }
}

/// FlashAttention-2 paper, section 1: 0.30 to 0.50 of A100's peak forward, 0.25 to 0.35 backward. Hopper holds it back
/// as it does FlashAttention-2.
TEST(AttentionTime, FirstFlashKernelReachesItsPublishedRates) {
  for (const bool backward : {false, true}) {
    Attention first = attention(8192);
    first.backward = backward;
    first.kernel = AttentionKernel::kFlash1;
    Attention second = first;
    second.kernel = AttentionKernel::kFlash2;
    EXPECT_GE(rate_over_peak(first, a100()), backward ? 0.25 : 0.30);
    EXPECT_LE(rate_over_peak(first, a100()), backward ? 0.35 : 0.50);
    EXPECT_NEAR(rate_over_peak(first, h100()) / rate_over_peak(second, h100()),
                rate_over_peak(first, a100()) / rate_over_peak(second, a100()), 0.005);
  }
}

/// Heads of 150 (BLOOM's early shapes) fall off the tensor cores: at 0.6 of the vector peak each product takes
/// 2 x 32 x 2048^2 x 150 FLOPs. Heads of 152 do not.
TEST(AttentionTime, MisalignedHeadsRunOnTheVectorUnits) {
  Attention shape = attention(2048);
  shape.kernel = AttentionKernel::kUnfused;
  shape.head_dim = shape.value_dim = 150;
  const double products = 2 * 2.0 * 32 * 2048 * 2048 * 150 / (0.6 * a100().vector_peak.value());
  EXPECT_GT(seconds(shape, a100()), products);
  EXPECT_LT(seconds(shape, a100()), 1.1 * products);
  shape.head_dim = shape.value_dim = 152;
  EXPECT_LT(seconds(shape, a100()), 0.5 * products);
}

TEST(AttentionTime, UnfusedScoresPassThroughMemory) {
  Attention shape = attention(2048);
  shape.kernel = AttentionKernel::kUnfused;
  const KernelCost plain = kernel_cost(shape, a100());
  shape.dropout = true;
  const KernelCost dropped = kernel_cost(shape, a100());
  const double scores = 32.0 * 2048 * 2048;
  EXPECT_EQ(dropped.traffic.value() - plain.traffic.value(), static_cast<std::int64_t>(scores * 5));
  EXPECT_NEAR(dropped.time.value() - plain.time.value(), kRampSeconds + scores * 5 / (2.039e12 * 0.85), 1e-12);
  EXPECT_GT(plain.time.value(), seconds(attention(2048), a100()) * 2);
}

TEST(AttentionTime, GrowsWithLengthAndHeads) {
  for (const bool backward : {false, true}) {
    double before = 0;
    for (std::int64_t length = 1; length < 20000; length += 37) {
      Attention shape = attention(length);
      shape.backward = backward;
      EXPECT_GE(seconds(shape, h100()), before) << length;
      before = seconds(shape, h100());
    }
  }
}

struct Streamed {
  Kernel kernel;
  double bytes;
};

TEST(MemoryBoundTime, IsBytesOverTheStreamingRate) {
  constexpr std::int64_t kRows = 8192, kColumns = 4096;
  constexpr double kArea = 8192.0 * 4096;
  const std::vector<Streamed> kernels{
      {Norm{.rows = kRows, .columns = kColumns}, kArea * 2 * 2},
      {Norm{.rows = kRows, .columns = kColumns, .backward = true}, kArea * 2 * 5},
      {Elementwise{.elements = 10, .bytes_read = 7'000'000, .bytes_written = 3'000'000}, 1e7},
      {Embedding{.tokens = kRows, .hidden = kColumns, .vocabulary = 50'000}, kArea * 4},
      {Embedding{.tokens = kRows, .hidden = kColumns, .vocabulary = 50'000, .backward = true}, kArea * (2 + 8)},
      {CrossEntropy{.tokens = kRows, .vocabulary = kColumns}, kArea * 4 * 8},
      {CrossEntropy{.tokens = kRows, .vocabulary = kColumns, .fused = true}, kArea * 4 * 3},
      {CrossEntropy{.tokens = kRows, .vocabulary = kColumns, .backward = true}, kArea * 4 * 2},
      {Optimizer{.parameters = 1'000'000, .bytes_per_parameter = 30}, 30e6},
      {SquaredNorm{.elements = 1'000'000}, 4e6},
      {Route{.tokens = kRows, .hidden = kColumns, .experts = 64, .top_k = 2}, kArea * 2 * 3 + 8192.0 * 64 * 16}};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelCost cost = kernel_cost(kernels[i].kernel, a100());
    EXPECT_EQ(cost.traffic.value(), static_cast<std::int64_t>(kernels[i].bytes)) << i;
    EXPECT_NEAR(cost.time.value(), kRampSeconds + kernels[i].bytes / (2.039e12 * 0.85), 1e-12) << i;
    EXPECT_TRUE(cost.memory_bound) << i;
    EXPECT_EQ(cost.flops.value(), 0) << i;
  }
}

TEST(MeasuredTime, IsTakenAsGiven) { EXPECT_EQ(seconds(Measured{.seconds = 0.018522}, a100()), 0.018522); }

/// Every alternative with all its sizes set to `size`.
std::vector<Kernel> kernels_of_size(std::int64_t size) {
  std::vector<Kernel> kernels{Matmul{.m = size, .n = size, .k = size, .batch = size},
                              Norm{.rows = size, .columns = size},
                              Elementwise{.elements = size, .bytes_read = size, .bytes_written = size},
                              Embedding{.tokens = size, .hidden = size, .vocabulary = size},
                              CrossEntropy{.tokens = size, .vocabulary = size},
                              Optimizer{.parameters = size},
                              SquaredNorm{.elements = size},
                              Route{.tokens = size, .hidden = size, .experts = size, .top_k = size}};
  for (const bool backward : {false, true}) {
    Attention shape{.batch = 1,
                    .heads = size,
                    .kv_heads = size,
                    .query_length = size,
                    .key_length = size,
                    .head_dim = size,
                    .value_dim = size,
                    .backward = backward};
    kernels.emplace_back(shape);
    shape.kernel = AttentionKernel::kUnfused;
    shape.dropout = true;
    kernels.emplace_back(shape);
  }
  return kernels;
}

TEST(KernelTime, IsPositiveAndFiniteForAnySize) {
  for (const std::int64_t size : {1LL, 3LL, 127LL, 4096LL, 1'000'000'000LL, 1'000'000'000'000'000LL}) {
    for (const Kernel& kernel : kernels_of_size(size)) {
      const KernelCost cost = kernel_cost(kernel, h100());
      EXPECT_TRUE(std::isfinite(cost.time.value())) << size << " alternative " << kernel.index();
      EXPECT_GT(cost.time.value(), 0) << size << " alternative " << kernel.index();
      EXPECT_GE(cost.traffic.value(), 0) << size << " alternative " << kernel.index();
      EXPECT_GE(cost.flops.value(), 0) << size << " alternative " << kernel.index();
    }
  }
}

/// Korthikanti et al. 2022 (arXiv:2205.05198), Table 4: one layer of the 22B model, 8-way tensor parallel on A100,
/// micro-batch 4, 2,048 tokens, unfused attention. "Baseline no recompute": forward 7.7 ms, backward 11.9 ms.
class LayerOf22B : public testing::Test {
 protected:
  static constexpr std::int64_t kTokens = 4 * 2048, kHidden = 6144, kTensor = 8;
  /// Two ring all-reduces of the activations at 230 GB/s bus bandwidth (NVLink 3, measured by nccl-tests on DGX A100).
  static constexpr double kAllReduces = 2 * 2 * 7.0 / 8 * kTokens * kHidden * 2 / 230e9;

  static Attention attention(bool backward) {
    return {.batch = 4,
            .heads = 8,
            .kv_heads = 8,
            .query_length = 2048,
            .key_length = 2048,
            .head_dim = 96,
            .value_dim = 96,
            .backward = backward,
            .dropout = true,
            .kernel = AttentionKernel::kUnfused};
  }
  static double total(const std::vector<Kernel>& kernels) {
    double sum = 0;
    for (const Kernel& kernel : kernels) sum += seconds(kernel, a100());
    return sum;
  }
  static Elementwise pass(std::int64_t columns, std::int64_t read, std::int64_t written) {
    return {.elements = kTokens * columns,
            .bytes_read = kTokens * columns * read,
            .bytes_written = kTokens * columns * written};
  }
  static Norm norm(bool backward) { return {.rows = kTokens, .columns = kHidden, .backward = backward}; }
};

TEST_F(LayerOf22B, ForwardTime) {
  const std::int64_t ffn = 4 * kHidden / kTensor;
  const double sum = total({norm(false), Matmul{.m = kTokens, .n = 3 * kHidden / kTensor, .k = kHidden},
                            attention(false), Matmul{.m = kTokens, .n = kHidden, .k = kHidden / kTensor},
                            pass(kHidden, 4, 3), norm(false), Matmul{.m = kTokens, .n = ffn, .k = kHidden},
                            pass(ffn, 2, 2), Matmul{.m = kTokens, .n = kHidden, .k = ffn}, pass(kHidden, 4, 3)}) +
                     kAllReduces;
  EXPECT_NEAR(sum * 1e3 / 7.7, 1, 0.15);
}

TEST_F(LayerOf22B, BackwardTime) {
  const std::int64_t ffn = 4 * kHidden / kTensor, qkv = 3 * kHidden / kTensor, head = kHidden / kTensor;
  // Two norms, attention, GELU, two bias-dropout-adds, two sums of the residual's gradients.
  std::vector<Kernel> kernels{norm(true),          norm(true),          attention(true),     pass(ffn, 4, 2),
                              pass(kHidden, 3, 2), pass(kHidden, 3, 2), pass(kHidden, 4, 2), pass(kHidden, 4, 2)};
  struct Weight {
    std::int64_t in, out;
  };
  for (const Weight weight :
       {Weight{kHidden, qkv}, Weight{head, kHidden}, Weight{kHidden, ffn}, Weight{ffn, kHidden}}) {
    kernels.emplace_back(Matmul{.m = kTokens, .n = weight.in, .k = weight.out});
    kernels.emplace_back(
        Matmul{.m = weight.out, .n = weight.in, .k = kTokens, .output = DType::kFp32, .accumulate = true});
    kernels.emplace_back(pass(weight.out, 2, 0));  // bias gradient
  }
  // The all-reduces of the input gradients run beside the weight gradients.
  EXPECT_NEAR(total(kernels) * 1e3 / 11.9, 1, 0.18);
}

}  // namespace
}  // namespace hw_models
