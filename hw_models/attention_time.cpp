// Attention.
//
// Flash (one kernel, the score matrix stays on chip):
//   FLOPs   = 2 b h sq sk (d + dv) x seen; backward 2.5 x
//   seen    = 1, causal 1 - sq / (2 sk): the last query sees all keys; causal with a window of w < sk keys
//             [sq w - (w - sk + sq)^2 / 2 for the queries whose window is not full yet] / (sq sk)
//   tiles   = keys that the tiles of a query hold over those it sees: with a full window 128 more, half a tile at
//             either end
//   compute = FLOPs x tiles x padding / (peak x best x share x width(d)) x (1 + SMs / blocks)
//   blocks  = b h ceil(s / rows), padding = ceil(s / rows) rows / s;   s = sq forward, sk backward
//   time    = ramp + max(compute, memory)
// FlashAttention-2 takes one head size: narrower values are padded to the keys' (DeepSeek's published modelling code).
// The term SMs / blocks is the tail: while the last block runs, the others wait, one block's time on average.
//
// Unfused (Q K^T and P V as batched matmuls, the whole square even when causal, the scores pass through memory):
//   forward  = 2 matmuls + softmax (read, write) + dropout (read, write, mask written)
//   backward = 4 matmuls + softmax (read 2, write) + dropout (read, write, mask read)
#include <algorithm>
#include <cmath>

#include "hw_models/kernel_families.h"

namespace hw_models {
namespace {

/// Flash rate over the GPU's best matmul rate at head size 128, for a full device. Sources, in TFLOP/s over peak:
///   A100: FlashAttention-2 (arXiv:2307.08691, Fig. 4-6) forward 0.60-0.73, backward 0.50-0.63; best matmul 0.87
///   H100: FlashAttention-3 (arXiv:2407.08608, Fig. 5-6) forward 0.55-0.66, backward 0.45-0.57; best matmul 0.80
///   B200: SimuMax profile, forward 0.50-0.60, backward 0.42-0.48; best matmul 0.78
constexpr double kForwardShare = 0.73;
constexpr double kBackwardShare = 0.60;

/// The first FlashAttention (1.x): rescales every partial result, splits keys instead of queries between warps. On A100
/// it reaches 0.30 to 0.50 of the peak forward and 0.25 to 0.35 backward (arXiv:2307.08691, section 1): the middle of
/// each, over the best matmul's 0.87.
constexpr double kFirstForwardShare = 0.46;
constexpr double kFirstBackwardShare = 0.345;

/// exp() and rescaling cost the same for every score whatever the head size: width(d) = d / (d + 32), 1 at 128.
/// FlashAttention-2 and -3 lose 15 to 25 % at d = 64.
constexpr double kScoreWidth = 32;

/// Query rows of one block. Blackwell's data-centre SMs (15 bf16 TFLOP/s each; Hopper's 7.5) hold two tiles of 128 at
/// once.
constexpr double kRows = 128;
constexpr double kTwoTileRate = 1e13;

/// Keys of one tile of a flash kernel (FlashAttention-2: 64 or 128; -3: 128 or 176 at head size 128).
constexpr double kWindowTile = 128;

/// Backward recomputes Q K^T and forms dV, dP, dQ, dK: five matmuls for the forward's two.
constexpr double kBackwardFlops = 2.5;

/// FlashAttention and FlashAttention-2 issue Ampere's mma.sync. Later SMs keep it at this rate: on H100 it reaches 0.62
/// of the 7.5 TFLOP/s of wgmma (Luo et al., arXiv:2402.13499), as FlashAttention-2 does beside -3 (arXiv:2407.08608,
/// Fig. 5-6: forward 0.55 to 0.65, backward 0.6).
constexpr double kAmpereInstructionRate = 4.65e12;

/// Batched products whose heads do not start on 16-byte boundaries (head size no multiple of 8) find no tensor-core
/// kernel in cuBLAS 11 and run on the vector units, at GpuSpec::misaligned_efficiency of their peak.
constexpr std::int64_t kAlignedElements = 8;

struct Sizes {
  double sequences, heads, kv_heads, queries, keys, width, value_width, element;

  explicit Sizes(const Attention& attention)
      : sequences(static_cast<double>(attention.batch)),
        heads(static_cast<double>(attention.heads)),
        kv_heads(static_cast<double>(attention.kv_heads)),
        queries(static_cast<double>(attention.query_length)),
        keys(static_cast<double>(attention.key_length)),
        width(static_cast<double>(attention.head_dim)),
        value_width(static_cast<double>(attention.value_dim)),
        element(info(attention.dtype).bytes) {}

  double square() const { return sequences * heads * queries * keys; }
  double query() const { return sequences * heads * queries * width; }
  double output() const { return sequences * heads * queries * value_width; }
  double key() const { return sequences * kv_heads * keys * width; }
  double value() const { return sequences * kv_heads * keys * value_width; }
};

double flash_bytes(const Sizes& sizes, bool backward) {
  if (!backward) return sizes.element * (sizes.query() + sizes.key() + sizes.value() + sizes.output());
  // Reads Q, K, V, O, dO; writes dK, dV, dQ; dQ is summed in fp32 before it is rounded.
  return sizes.element * (2 * (sizes.query() + sizes.key() + sizes.value()) + 2 * sizes.output()) +
         2 * 4 * sizes.query();
}

/// Share of the rectangle of scores that queries see, and that a flash kernel computes because tiles are whole. Without
/// a window the tile on the diagonal is part of the measured rate.
struct Seen {
  double share = 1, computed = 1;
};

Seen seen(const Attention& attention, const Sizes& sizes) {
  if (!attention.causal) return {};
  const double all = 1 - sizes.queries / (2 * sizes.keys);
  const auto window = static_cast<double>(attention.window);
  if (window <= 0 || window >= sizes.keys) return {all, all};
  const double filling = std::clamp(window - (sizes.keys - sizes.queries), 0.0, sizes.queries);
  const double band = sizes.queries * window - filling * filling / 2;
  const double visited = band + (sizes.queries - filling) * kWindowTile;
  const double square = sizes.queries * sizes.keys;
  return {band / square, std::min(visited / square, all)};
}

double width_efficiency(double width) {
  const auto saturation = [](double value) { return value / (value + kScoreWidth); };
  return std::min(1.0, saturation(width) / saturation(128));
}

double flash_share(const Attention& attention) {
  if (attention.kernel == AttentionKernel::kFlash1) {
    return attention.backward ? kFirstBackwardShare : kFirstForwardShare;
  }
  return attention.backward ? kBackwardShare : kForwardShare;
}

KernelCost flash_cost(const Attention& attention, const GpuSpec& gpu) {
  const Sizes sizes(attention);
  const double peak = matrix_rate(attention.dtype, gpu).value();
  const Seen share_seen = seen(attention, sizes);
  const double passes = attention.backward ? kBackwardFlops : 1;
  const double all_flops = 2 * sizes.square() * (sizes.width + sizes.value_width) * passes;
  const double flops = all_flops * share_seen.share;
  double computed = all_flops * share_seen.computed;
  double share = flash_share(attention);
  if (attention.kernel != AttentionKernel::kFlash) {
    share *= std::min(1.0, kAmpereInstructionRate * gpu.multiprocessors / peak);
    computed *= 2 * std::max(sizes.width, sizes.value_width) / (sizes.width + sizes.value_width);  // one head size
  }
  const double rate = peak * gpu.matrix_efficiency * share * width_efficiency((sizes.width + sizes.value_width) / 2);
  const bool two_tiles = gpu.peak(DType::kBf16).value() / gpu.multiprocessors > kTwoTileRate && !attention.backward;
  const double rows = two_tiles ? 2 * kRows : kRows;
  const double length = attention.backward ? sizes.keys : sizes.queries;
  const double blocks_per_head = std::ceil(length / rows);
  const double blocks = sizes.sequences * sizes.heads * blocks_per_head;
  const double padding = blocks_per_head * rows / length;
  const double compute = computed * padding / rate * (1 + gpu.multiprocessors / blocks);
  const double bytes = flash_bytes(sizes, attention.backward);
  const double memory = streaming_time(bytes, gpu).value();
  return {.time = kKernelRamp + Seconds(std::max(compute, memory)),
          .flops = Flops(flops),
          .traffic = saturated(bytes),
          .memory_bound = memory > compute};
}

/// Passes over the score matrix between the two matmuls.
KernelCost score_cost(const Attention& attention, const GpuSpec& gpu) {
  const Sizes sizes(attention);
  const double softmax = attention.backward ? 3 * sizes.element : 2 * sizes.element;
  KernelCost cost = streaming_cost(sizes.square() * softmax, gpu);
  if (!attention.dropout) return cost;
  const double mask = 1;  // byte per score, as PyTorch keeps it
  const KernelCost dropout = streaming_cost(sizes.square() * (2 * sizes.element + mask), gpu);
  cost.time += dropout.time;
  cost.traffic = saturated(static_cast<double>(cost.traffic.value()) + static_cast<double>(dropout.traffic.value()));
  return cost;
}

KernelCost product_cost(const Matmul& matmul, const Attention& attention, const GpuSpec& gpu) {
  KernelCost cost = matmul_cost(matmul, gpu);
  const bool half = info(matmul.dtype).bytes == 2;
  const bool aligned = attention.head_dim % kAlignedElements == 0 && attention.value_dim % kAlignedElements == 0;
  if (half && !aligned && gpu.vector_peak.value() > 0) {
    cost.time = std::max(cost.time, kKernelRamp + cost.flops / (gpu.vector_peak * gpu.misaligned_efficiency));
  }
  return cost;
}

KernelCost unfused_cost(const Attention& attention, const GpuSpec& gpu) {
  const std::int64_t batch = attention.batch * attention.heads;
  const DType dtype = attention.dtype;
  const std::int64_t queries = attention.query_length, keys = attention.key_length;
  const Matmul scores{
      .m = queries, .n = keys, .k = attention.head_dim, .batch = batch, .dtype = dtype, .output = dtype};
  const Matmul values{
      .m = queries, .n = attention.value_dim, .k = keys, .batch = batch, .dtype = dtype, .output = dtype};
  KernelCost total = score_cost(attention, gpu);
  double traffic = static_cast<double>(total.traffic.value());
  const Seconds score_time = total.time;
  const int repeats = attention.backward ? 2 : 1;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const Matmul& matmul : {scores, values}) {
      const KernelCost cost = product_cost(matmul, attention, gpu);
      total.time += cost.time;
      total.flops += cost.flops;
      traffic += static_cast<double>(cost.traffic.value());
    }
  }
  total.traffic = saturated(traffic);
  total.memory_bound = score_time > total.time * 0.5;
  return total;
}

}  // namespace

KernelCost attention_cost(const Attention& attention, const GpuSpec& gpu) {
  return attention.kernel == AttentionKernel::kUnfused ? unfused_cost(attention, gpu) : flash_cost(attention, gpu);
}

}  // namespace hw_models
