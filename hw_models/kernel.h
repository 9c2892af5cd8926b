// The kernels a training step consists of, named with the shapes that decide their time. The strategy layer emits
// them, the simulator prices them (kernel_time.h), the executor runs them.
#pragma once

#include <cstdint>
#include <variant>

#include "hw_models/dtype.h"

namespace hw_models {

/// C[m,n] (+)= op(A)[m,k] * op(B)[k,n]. All sizes > 0. FLOPs = 2 m n k batch.
struct Matmul {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t batch = 1;
  DType dtype = DType::kBf16;   ///< of A and B
  DType output = DType::kBf16;  ///< of C; fp32 where weight gradients are accumulated in fp32
  bool accumulate = false;      ///< C is read as well as written
  bool transpose_a = false, transpose_b = false;
  bool operator==(const Matmul&) const = default;
};

/// kFlash: written for the GPU it runs on (FlashAttention-3, cuDNN); kFlash1, kFlash2: FlashAttention and
/// FlashAttention-2, with the tensor-core instructions of Ampere; kUnfused: batched matmuls and softmax passes.
enum class AttentionKernel : std::uint8_t { kFlash, kFlash2, kUnfused, kFlash1 };

/// Softmax(Q K^T / sqrt(d)) V per head. `causal` spares a flash kernel the keys behind a query, the last query
/// sees all of them: half the FLOPs of a square, and a window those before
/// it; an unfused kernel computes the whole rectangle and moves the score
/// matrix through memory.
struct Attention {
  std::int64_t batch = 1;                ///< sequences
  std::int64_t heads = 1, kv_heads = 1;  ///< on this rank
  std::int64_t query_length = 1, key_length = 1;
  std::int64_t head_dim = 1, value_dim = 1;
  bool causal = true;
  bool backward = false;  ///< gradients of Q, K and V: 2.5 x the forward FLOPs for flash, 2 x unfused
  bool dropout = false;   ///< unfused only: one more pass over the score matrix and its mask
  AttentionKernel kernel = AttentionKernel::kFlash;
  DType dtype = DType::kBf16;
  std::int64_t window = 0;  ///< causal: keys that a query sees, its own and those before it; 0 = all
  bool operator==(const Attention&) const = default;
};

enum class NormKind : std::uint8_t { kLayerNorm, kRmsNorm };

struct Norm {
  std::int64_t rows = 1, columns = 1;
  NormKind kind = NormKind::kRmsNorm;
  bool backward = false;
  DType dtype = DType::kBf16;
  bool operator==(const Norm&) const = default;
};

enum class ElementwiseKind : std::uint8_t {
  kGelu,
  kSwiglu,
  kSquaredRelu,
  kRelu,
  kRotary,
  kResidualAdd,
  kBiasDropoutAdd,
  kCast,
  kScale,
  kZero,
  kCopy,
  kAdd
};

/// A pass over memory: reads `bytes_read`, writes `bytes_written`, a few FLOPs per element.
struct Elementwise {
  ElementwiseKind kind = ElementwiseKind::kCopy;
  std::int64_t elements = 1;  ///< of the output
  std::int64_t bytes_read = 0, bytes_written = 0;
  bool backward = false;
  std::int64_t columns = 0;   ///< elements of a row where the pass depends on them (rotation, gate, positions); else 0
  std::int64_t head_dim = 0;  ///< rotation only
  bool operator==(const Elementwise&) const = default;
};

/// Gather (forward) or scatter-add (backward) of `tokens` rows of a vocabulary table [vocabulary, hidden].
struct Embedding {
  std::int64_t tokens = 1, hidden = 1, vocabulary = 1;  ///< vocabulary rows on this rank
  bool backward = false;
  DType dtype = DType::kBf16;
  std::int64_t position_rows = 0;  ///< backward: this rank's own rows, added to a position table's gradient as well
  bool operator==(const Embedding&) const = default;
};

/// Softmax cross-entropy over logits [tokens, vocabulary]; `fused` keeps no extra fp32 copy.
struct CrossEntropy {
  std::int64_t tokens = 1, vocabulary = 1;  ///< vocabulary columns on this rank
  bool backward = false;
  bool fused = false;
  DType logits = DType::kFp32;
  std::int64_t padding = 0;  ///< the last columns over all ranks that stand for no token
  bool operator==(const CrossEntropy&) const = default;
};

enum class OptimizerKind : std::uint8_t { kSgd, kAdamW };

/// One optimizer update of `parameters` elements: `bytes_per_parameter` read and written in total.
struct Optimizer {
  OptimizerKind kind = OptimizerKind::kAdamW;
  std::int64_t parameters = 1;
  double bytes_per_parameter = 30;  ///< Adam mixed: grad 4 r, master/m/v 12 r + 12 w, weight 2 w
  bool operator==(const Optimizer&) const = default;
};

/// Sum of squares of `elements` fp32 or bf16 values (gradient norm).
struct SquaredNorm {
  std::int64_t elements = 1;
  DType dtype = DType::kFp32;
  bool operator==(const SquaredNorm&) const = default;
};

/// Mixture-of-experts routing of `tokens` over `experts`, `top_k` each (scores, selection, permutation).
struct Route {
  std::int64_t tokens = 1, hidden = 1, experts = 1, top_k = 1;
  bool backward = false;
  bool operator==(const Route&) const = default;
};

/// A kernel whose time is known: profiled elsewhere. For hand-made programs and profiled pipelines.
struct Measured {
  double seconds = 0;
  bool operator==(const Measured&) const = default;
};

using Kernel = std::variant<Matmul, Attention, Norm, Elementwise, Embedding, CrossEntropy, Optimizer, SquaredNorm,
                            Route, Measured>;

}  // namespace hw_models
