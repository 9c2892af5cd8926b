// Matrix multiplication, tiled over the multiprocessors (SMs):
//
//   blocks  = ceil(m / tm) ceil(n / tn) batch splits        one block computes a tm x tn tile of C over k / splits
//   compute = ceil(blocks / SMs) x 2 tm tn (k / splits + k0 w) / (peak / SMs x best x tile efficiency)
//   w       = max(1, peak / bf16's peak)                    filling and emptying a block takes as long in any format
//   tile efficiency = I / (I + I0), relative to the 256 x 128 tile;   I = tm tn / (tm + tn) FLOPs per operand element
//   reduction = 2 (splits + 1) x 4 m n batch bytes          partial sums when k is split, only while tiles < SMs
//   memory  = (m k + k n) x bytes(dtype) + m n x bytes(output), twice for C when accumulated
//   time    = ramp + min over (tile, splits) of max(compute, memory) + reduction
//
// `best` is the GPU's matrix_efficiency, or the format's own. Twice the rate at half the bytes an element leaves the
// tile efficiency as it is; only the ramp, a matter of latency, does not get shorter. The three constants below hold
// for all GPUs; they were chosen once on the public matmul sweeps of the aiconfigurator project (A100, H100, H200,
// B200, GB200; bf16; 16,000 to 22,000 shapes each except A100's 5,700). Not modelled: operands read again when they
// outgrow L2, misaligned leading dimensions, the clock that sinks under minutes of full power.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "hw_models/kernel_families.h"

namespace hw_models {
namespace {

struct Tile {
  double m, n;
};
/// Block tiles of the CUTLASS and cuBLAS libraries' tensor-core kernels.
constexpr std::array<Tile, 6> kTiles{{{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}}};
constexpr std::array<double, 9> kSplits{1, 2, 3, 4, 6, 8, 12, 16, 32};

/// Prologue and epilogue of a block, in steps of k: the software pipeline fills, the tile is written.
constexpr double kRampDepth = 96;
/// Operand traffic of a tile through shared memory: costs a 64 x 64 tile 4 % against 256 x 128.
constexpr double kTileIntensity = 2.5;
/// Partial sums are moved at half the streaming rate.
constexpr double kReductionPasses = 2;

double intensity(const Tile& tile) { return tile.m * tile.n / (tile.m + tile.n); }

double tile_efficiency(const Tile& tile) {
  const auto saturation = [](double value) { return value / (value + kTileIntensity); };
  return saturation(intensity(tile)) / saturation(intensity(kTiles.front()));
}

struct Shape {
  double m, n, k, batch, ramp;
};

double tiled_seconds(const Shape& shape, const Tile& tile, double splits, double rate, double multiprocessors) {
  const double blocks = std::ceil(shape.m / tile.m) * std::ceil(shape.n / tile.n) * shape.batch * splits;
  const double waves = std::ceil(blocks / multiprocessors);
  const double block_flops = 2 * tile.m * tile.n * (shape.k / splits + shape.ramp);
  return waves * block_flops / (rate / multiprocessors * tile_efficiency(tile));
}

double best_seconds(const Shape& shape, double rate, double multiprocessors, double memory_seconds,
                    double partial_sum_seconds) {
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double tiles = std::ceil(shape.m / tile.m) * std::ceil(shape.n / tile.n) * shape.batch;
    for (const double splits : kSplits) {
      if (splits > 1 && tiles >= multiprocessors) break;
      const double compute = tiled_seconds(shape, tile, splits, rate, multiprocessors);
      const double reduction = splits > 1 ? kReductionPasses * (splits + 1) * partial_sum_seconds : 0;
      best = std::min(best, std::max(compute, memory_seconds) + reduction);
    }
  }
  return best;
}

/// kRampDepth steps of k at bf16's rate take the same time as this many of `dtype`.
double ramp_depth(DType dtype, const GpuSpec& gpu) {
  const double reference = gpu.peak(DType::kBf16).value();
  return reference > 0 ? kRampDepth * std::max(1.0, gpu.peak(dtype).value() / reference) : kRampDepth;
}

}  // namespace

KernelCost matmul_cost(const Matmul& matmul, const GpuSpec& gpu) {
  const Shape shape{static_cast<double>(matmul.m), static_cast<double>(matmul.n), static_cast<double>(matmul.k),
                    static_cast<double>(matmul.batch), ramp_depth(matmul.dtype, gpu)};
  const double output_passes = matmul.accumulate ? 2 : 1;
  const double bytes = shape.batch * ((shape.m * shape.k + shape.k * shape.n) * info(matmul.dtype).bytes +
                                      output_passes * shape.m * shape.n * info(matmul.output).bytes);
  const double memory_seconds = streaming_time(bytes, gpu).value();
  const double partial_sum_seconds = streaming_time(4 * shape.m * shape.n * shape.batch, gpu).value();
  const double rate = matrix_rate(matmul.dtype, gpu).value() * gpu.efficiency(matmul.dtype);
  const double seconds = best_seconds(shape, rate, gpu.multiprocessors, memory_seconds, partial_sum_seconds);
  return {.time = kKernelRamp + Seconds(seconds),
          .flops = Flops(2 * shape.m * shape.n * shape.k * shape.batch),
          .traffic = saturated(bytes),
          .memory_bound = memory_seconds >= seconds};
}

}  // namespace hw_models
