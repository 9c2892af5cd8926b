// The sizes the kernels of the CPU backend work on. All views are row-major; all sizes are > 0 unless said otherwise.
#pragma once

#include <cstdint>

#include "hw_models/kernel.h"
#include "strategies/model.h"

namespace executor::cpu {

/// C[m,n] (+)= op(A)[m,k] op(B)[k,n], `batch` times. A is stored as [m,k], or as [k,m] with transpose_a; B likewise.
/// lda, ldb, ldc: elements from one stored row to the next, 0 = the stored row's length (dense).
/// step_a, step_b, step_c: elements from one product of the batch to the next.
struct MatmulShape {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t batch = 1;
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;  ///< C is added to; otherwise it is overwritten and may hold anything before
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t step_a = 0, step_b = 0, step_c = 0;
};

/// Causal self-attention of `batch` sequences. Inside a row of the packed projection
/// qkv[batch x sequence, (heads + 2 kv_heads) head_dim] come all queries, then all keys, then all values, each as
/// [head][head_dim]. Query head h reads key-value head h / (heads / kv_heads); kv_heads divides heads. The numbers are
/// those of this rank, so a tensor slice is packed like a whole model with fewer heads.
struct AttentionShape {
  std::int64_t batch = 1, sequence = 1;
  std::int64_t heads = 1, kv_heads = 1, head_dim = 1;
  std::int64_t window = 0;  ///< tokens that a query sees, its own and those before it; 0 = all

  /// The first key that the query in row `row` of its sequence sees.
  std::int64_t first_key(std::int64_t row) const { return window > 0 && row >= window ? row - window + 1 : 0; }
  std::int64_t tokens() const { return batch * sequence; }
  std::int64_t query_columns() const { return heads * head_dim; }
  std::int64_t packed_columns() const { return (heads + 2 * kv_heads) * head_dim; }
  std::int64_t probabilities() const { return batch * heads * sequence * sequence; }  ///< elements
};
/// Rows of the score matrix that the attention kernels treat at once; they skip the blocks above the diagonal.
inline constexpr std::int64_t kAttentionRows = 64;
/// Elements of scratch memory attention_backward needs.
inline std::int64_t attention_workspace(const AttentionShape& shape) { return kAttentionRows * shape.sequence; }

/// Attention of some queries over one run of keys, of all heads: each row of queries is [head][head_dim], each row of
/// keys or values [kv_head][head_dim]. The first query sees `seen` keys, every next one one more, at most all: seen =
/// keys is no mask. Strides: elements from one row to the next.
struct AttentionBlock {
  std::int64_t heads = 1, kv_heads = 1, head_dim = 1;
  std::int64_t queries = 1, keys = 1, seen = 1;
  std::int64_t query_stride = 1, key_stride = 1;  ///< of queries; of keys and values
  std::int64_t query_gradient_stride = 1, key_gradient_stride = 1;

  std::int64_t columns() const { return heads * head_dim; }  ///< of the context, dense
};
/// Elements of scratch memory that the block kernels need; the backward one twice.
inline std::int64_t attention_workspace(const AttentionBlock& block) { return kAttentionRows * block.keys; }

struct NormShape {
  std::int64_t rows = 1, columns = 1;
  hw_models::NormKind kind = hw_models::NormKind::kLayerNorm;
  double epsilon = 1e-5;  ///< added to the variance (mean square); GPT-2 and Llama 2/3 use 1e-5
};

/// up[rows, columns] -> activated[rows, columns]; gated: up[rows, 2 columns] holds the gate, then the value, and
/// activated = act(gate) value. kSilu gated is SwiGLU; kGelu is the tanh form (GPT-2).
struct ActivationShape {
  std::int64_t rows = 1, columns = 1;
  strategies::Activation activation = strategies::Activation::kGelu;
  bool gated = false;
};

/// The first `heads` heads of every row of x[rows, stride]: for a packed projection heads = query + key heads. Row r
/// stands at position r % sequence.
struct RotaryShape {
  std::int64_t rows = 1, sequence = 1;
  std::int64_t heads = 1, head_dim = 2;  ///< head_dim even; element i is rotated with element i + head_dim / 2 (Llama)
  std::int64_t stride = 2;
};

/// Rows [first_row, first_row + rows) of a table [vocabulary, hidden], held by this rank.
struct EmbeddingShape {
  std::int64_t tokens = 1, hidden = 1;
  std::int64_t first_row = 0, rows = 1;
};

/// Row r of x[rows, hidden] stands at position (first_row + r) % sequence of a table [sequence or more, hidden].
/// first_row > 0 on a rank that holds a later part of the residual stream (sequence parallelism).
struct PositionShape {
  std::int64_t rows = 1, hidden = 1;
  std::int64_t sequence = 1, first_row = 0;
};

/// Columns [first_column, first_column + columns) of logits [tokens, padded vocabulary], held by this rank. Columns
/// from `vocabulary` on are padding: probability and gradient 0.
struct CrossEntropyShape {
  std::int64_t tokens = 1, columns = 1;
  std::int64_t first_column = 0;
  std::int64_t vocabulary = 1;  ///< of the model, without padding
};

/// One value per token, [tokens] each; see Kernels::cross_entropy_forward.
template <class T>
struct CrossEntropyRows {
  T* local_maximum = nullptr;  ///< largest logit of this rank's columns
  T* maximum = nullptr;        ///< the same; after the all-reduce (maximum) that of all ranks
  T* target = nullptr;         ///< the target's logit, 0 where another rank holds it; to be summed
  T* sum = nullptr;            ///< of exp(logit - maximum); to be summed
};

/// One update with decoupled weight decay (Loshchilov and Hutter).
struct AdamWShape {
  std::int64_t elements = 1;
  std::int64_t step = 1;  ///< number of this update, from 1
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0;
};

}  // namespace executor::cpu
