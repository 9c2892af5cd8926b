#include "executor/cpu/kernels/softmax.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

/// Where the parts of one head of one sequence lie.
struct Head {
  Head(const AttentionShape& s, std::int64_t sequence_index, std::int64_t head) {
    const std::int64_t first_token = sequence_index * s.sequence;
    const std::int64_t kv_head = head / (s.heads / s.kv_heads);
    query = first_token * s.packed_columns() + head * s.head_dim;
    key = first_token * s.packed_columns() + s.query_columns() + kv_head * s.head_dim;
    value = key + s.kv_heads * s.head_dim;
    context = first_token * s.query_columns() + head * s.head_dim;
    probabilities = (sequence_index * s.heads + head) * s.sequence * s.sequence;
  }
  std::int64_t query, key, value, context, probabilities;  ///< offsets
};

/// body(first row, rows): blocks of at most kAttentionRows query rows.
template <class Body>
void for_row_blocks(const AttentionShape& s, Body&& body) {
  for (std::int64_t row = 0; row < s.sequence; row += kAttentionRows) {
    body(row, s.sequence - row < kAttentionRows ? s.sequence - row : kAttentionRows);
  }
}

void attention_forward(const AttentionShape& s, const Scalar* qkv, Scalar* probabilities, Scalar* context) {
  const std::int64_t packed = s.packed_columns();
  const Scalar scale = score_scale(s.head_dim);
  for (std::int64_t i = 0; i < s.batch * s.heads; ++i) {
    const Head head(s, i / s.heads, i % s.heads);
    for_row_blocks(s, [&](std::int64_t row, std::int64_t rows) {
      const std::int64_t keys = row + rows;
      Scalar* scores = probabilities + head.probabilities + row * s.sequence;
      matmul(
          {.m = rows, .n = keys, .k = s.head_dim, .transpose_b = true, .lda = packed, .ldb = packed, .ldc = s.sequence},
          qkv + head.query + row * packed, qkv + head.key, scores);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t first = s.first_key(row + r);
        zero_range(scores + r * s.sequence, 0, first);
        softmax(row + r + 1 - first, scale, scores + r * s.sequence + first);
        zero_range(scores + r * s.sequence, row + r + 1, keys);
      }
      if (context == nullptr) return;
      matmul({.m = rows, .n = s.head_dim, .k = keys, .lda = s.sequence, .ldb = packed, .ldc = s.query_columns()},
             scores, qkv + head.value, context + head.context + row * s.query_columns());
    });
  }
}

void zero_keys_and_values(const AttentionShape& s, Scalar* qkv) {
  for (std::int64_t token = 0; token < s.tokens(); ++token) {
    zero_range(qkv + token * s.packed_columns(), s.query_columns(), s.packed_columns());
  }
}

/// What no query sees has P = 0, and so has no gradient.
/// dP = dO V^T; dQ = dS K; dK += dS^T Q; dV += P^T dO. The query heads of a group add to the same dK and dV, in order.
void attention_backward(const AttentionShape& s, const Scalar* qkv, const Scalar* probabilities, const Scalar* context,
                        const Scalar* context_gradient, Scalar* qkv_gradient, Scalar* workspace) {
  const std::int64_t packed = s.packed_columns(), wide = s.query_columns(), n = s.sequence;
  const Scalar scale = score_scale(s.head_dim);
  zero_keys_and_values(s, qkv_gradient);
  for (std::int64_t i = 0; i < s.batch * s.heads; ++i) {
    const Head head(s, i / s.heads, i % s.heads);
    for_row_blocks(s, [&](std::int64_t row, std::int64_t rows) {
      const std::int64_t keys = row + rows;
      const Scalar* p = probabilities + head.probabilities + row * n;
      const Scalar* out = context + head.context + row * wide;
      const Scalar* d_out = context_gradient + head.context + row * wide;
      const Scalar* query = qkv + head.query + row * packed;
      matmul({.m = rows, .n = keys, .k = s.head_dim, .transpose_b = true, .lda = wide, .ldb = packed, .ldc = n}, d_out,
             qkv + head.value, workspace);
      for (std::int64_t r = 0; r < rows; ++r) {
        const Scalar row_sum = dot(s.head_dim, out + r * wide, d_out + r * wide);
        softmax_backward(row + r + 1, scale, p + r * n, row_sum, workspace + r * n);
        zero_range(workspace + r * n, row + r + 1, keys);
      }
      matmul({.m = rows, .n = s.head_dim, .k = keys, .lda = n, .ldb = packed, .ldc = packed}, workspace, qkv + head.key,
             qkv_gradient + head.query + row * packed);
      const MatmulShape transposed{.m = keys,
                                   .n = s.head_dim,
                                   .k = rows,
                                   .transpose_a = true,
                                   .accumulate = true,
                                   .lda = n,
                                   .ldb = packed,
                                   .ldc = packed};
      matmul(transposed, workspace, query, qkv_gradient + head.key);
      MatmulShape values = transposed;
      values.ldb = wide;
      matmul(values, p, d_out, qkv_gradient + head.value);
    });
  }
}

}  // namespace

void add_attention(Kernels<Scalar>& table) {
  table.attention_forward = attention_forward;
  table.attention_backward = attention_backward;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
