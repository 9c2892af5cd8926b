// Kernels that only move memory: time = ramp + bytes / (bandwidth x memory_efficiency).
#include <algorithm>
#include <stdexcept>
#include <string>

#include "hw_models/kernel_families.h"

namespace hw_models {
namespace {

constexpr double kFp32Bytes = 4;
constexpr double kBf16Bytes = 2;

double area(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

}  // namespace

FlopsPerSecond matrix_rate(DType dtype, const GpuSpec& gpu) {
  FlopsPerSecond rate = gpu.peak(dtype);
  if (rate.value() <= 0 && dtype == DType::kTf32) rate = gpu.peak(DType::kFp32);
  const bool single = dtype == DType::kTf32 || dtype == DType::kFp32;
  if (rate.value() <= 0 && single) rate = gpu.vector_peak;
  if (rate.value() > 0) return rate;
  throw std::invalid_argument("GPU '" + gpu.name + "' cannot multiply " + std::string(info(dtype).name) + " matrices");
}

Bytes saturated(double bytes) { return Bytes(static_cast<std::int64_t>(std::min(bytes, 0x1p62))); }

Seconds streaming_time(double bytes, const GpuSpec& gpu) {
  return Seconds(bytes / (gpu.memory_bandwidth.value() * gpu.memory_efficiency));
}

KernelCost streaming_cost(double bytes, const GpuSpec& gpu) {
  return {.time = kKernelRamp + streaming_time(bytes, gpu), .traffic = saturated(bytes), .memory_bound = true};
}

/// Forward reads x, writes y. Backward reads x and dy, writes dx, and reads both again for the gradients of gain and
/// bias (a kernel of its own in Apex and Transformer Engine); statistics and weights are small beside them.
KernelCost norm_cost(const Norm& norm, const GpuSpec& gpu) {
  const double passes = norm.backward ? 5 : 2;
  return streaming_cost(passes * area(norm.rows, norm.columns) * info(norm.dtype).bytes, gpu);
}

KernelCost elementwise_cost(const Elementwise& pass, const GpuSpec& gpu) {
  return streaming_cost(static_cast<double>(pass.bytes_read) + static_cast<double>(pass.bytes_written), gpu);
}

/// Forward reads and writes a row per token. Backward reads dy and adds it to fp32 gradient rows (read and write).
KernelCost embedding_cost(const Embedding& embedding, const GpuSpec& gpu) {
  const double element = info(embedding.dtype).bytes;
  const double bytes = embedding.backward ? element + 2 * kFp32Bytes : 2 * element;
  return streaming_cost(bytes * area(embedding.tokens, embedding.hidden), gpu);
}

/// Passes over the logits. Forward, step by step (Megatron-LM's vocab_parallel_cross_entropy): maximum (read), subtract
/// (read, write), exp (read, write), sum (read), divide (read, write) = 8; fused: maximum and sum (read), probabilities
/// (read, write) = 3. Backward scales the kept probabilities in place: read, write.
KernelCost cross_entropy_cost(const CrossEntropy& loss, const GpuSpec& gpu) {
  const double forward = loss.fused ? 3 : 8;
  const double passes = loss.backward ? 2 : forward;
  return streaming_cost(passes * area(loss.tokens, loss.vocabulary) * info(loss.logits).bytes, gpu);
}

KernelCost optimizer_cost(const Optimizer& optimizer, const GpuSpec& gpu) {
  return streaming_cost(static_cast<double>(optimizer.parameters) * optimizer.bytes_per_parameter, gpu);
}

KernelCost squared_norm_cost(const SquaredNorm& norm, const GpuSpec& gpu) {
  return streaming_cost(static_cast<double>(norm.elements) * info(norm.dtype).bytes, gpu);
}

/// Scores: softmax and selection over fp32 [tokens, experts] (read, write each). Permutation: every token read once and
/// written top_k times in bf16; backward gathers them back (the reverse), so the same bytes.
KernelCost route_cost(const Route& route, const GpuSpec& gpu) {
  const double scores = 4 * kFp32Bytes * area(route.tokens, route.experts);
  const double permutation = kBf16Bytes * area(route.tokens, route.hidden) * (1 + static_cast<double>(route.top_k));
  return streaming_cost(scores + permutation, gpu);
}

}  // namespace hw_models
