#include "executor/cpu/kernels/softmax.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

std::int64_t smaller_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// body(head, first row, rows, keys that the last of them sees)
template <class Body>
void for_blocks(const AttentionBlock& b, Body&& body) {
  for (std::int64_t head = 0; head < b.heads; ++head) {
    for (std::int64_t row = 0; row < b.queries; row += kAttentionRows) {
      const std::int64_t rows = smaller_of(kAttentionRows, b.queries - row);
      body(head, row, rows, smaller_of(b.keys, b.seen + row + rows - 1));
    }
  }
}

/// Where the head's keys begin in a row of keys.
std::int64_t key_column(const AttentionBlock& b, std::int64_t head) {
  return head / (b.heads / b.kv_heads) * b.head_dim;
}

/// scores[rows, keys], stride b.keys
void products(const AttentionBlock& b, std::int64_t rows, std::int64_t keys, const Scalar* x, std::int64_t stride,
              const Scalar* y, Scalar* scores) {
  matmul(
      {.m = rows, .n = keys, .k = b.head_dim, .transpose_b = true, .lda = stride, .ldb = b.key_stride, .ldc = b.keys},
      x, y, scores);
}

void attention_block_forward(const AttentionBlock& b, const Scalar* queries, const Scalar* keys, const Scalar* values,
                             Scalar* context, Scalar* log_sums, Scalar* workspace) {
  const Scalar scale = score_scale(b.head_dim);
  for_blocks(b, [&](std::int64_t head, std::int64_t row, std::int64_t rows, std::int64_t seen) {
    const std::int64_t key = key_column(b, head);
    products(b, rows, seen, queries + row * b.query_stride + head * b.head_dim, b.query_stride, keys + key, workspace);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t own = smaller_of(b.keys, b.seen + row + r);
      log_sums[(row + r) * b.heads + head] = static_cast<Scalar>(softmax(own, scale, workspace + r * b.keys));
      zero_range(workspace + r * b.keys, own, seen);
    }
    matmul({.m = rows, .n = b.head_dim, .k = seen, .lda = b.keys, .ldb = b.key_stride, .ldc = b.columns()}, workspace,
           values + key, context + row * b.columns() + head * b.head_dim);
  });
}

/// p = e^(scale p - log_sum)
void probabilities(std::int64_t elements, Scalar scale, Scalar log_sum, Scalar* p) {
  for_parts(elements,
            [&](auto part, std::int64_t i) { part.store(p + i, exponential(part.load(p + i) * scale - log_sum)); });
}

void attention_block_backward(const AttentionBlock& b, const Scalar* queries, const Scalar* keys, const Scalar* values,
                              const Scalar* context, const Scalar* log_sums, const Scalar* context_gradient,
                              Scalar* query_gradient, Scalar* key_gradient, Scalar* value_gradient, Scalar* workspace) {
  const Scalar scale = score_scale(b.head_dim);
  Scalar *p = workspace, *dp = workspace + attention_workspace(b);
  for_blocks(b, [&](std::int64_t head, std::int64_t row, std::int64_t rows, std::int64_t seen) {
    const std::int64_t key = key_column(b, head), wide = b.columns(), first = row * wide + head * b.head_dim;
    const Scalar* query = queries + row * b.query_stride + head * b.head_dim;
    const Scalar* d_out = context_gradient + first;
    products(b, rows, seen, query, b.query_stride, keys + key, p);
    products(b, rows, seen, d_out, wide, values + key, dp);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t own = smaller_of(b.keys, b.seen + row + r);
      probabilities(own, scale, log_sums[(row + r) * b.heads + head], p + r * b.keys);
      const Scalar row_sum = dot(b.head_dim, context + first + r * wide, d_out + r * wide);
      softmax_backward(own, scale, p + r * b.keys, row_sum, dp + r * b.keys);
      for (Scalar* scores : {p, dp}) zero_range(scores + r * b.keys, own, seen);
    }
    matmul({.m = rows,
            .n = b.head_dim,
            .k = seen,
            .accumulate = true,
            .lda = b.keys,
            .ldb = b.key_stride,
            .ldc = b.query_gradient_stride},
           dp, keys + key, query_gradient + row * b.query_gradient_stride + head * b.head_dim);
    MatmulShape transposed{.m = seen,
                           .n = b.head_dim,
                           .k = rows,
                           .transpose_a = true,
                           .accumulate = true,
                           .lda = b.keys,
                           .ldb = b.query_stride,
                           .ldc = b.key_gradient_stride};
    matmul(transposed, dp, query, key_gradient + key);
    transposed.ldb = wide;
    matmul(transposed, p, d_out, value_gradient + key);
  });
}

void attention_merge(std::int64_t rows, std::int64_t heads, std::int64_t head_dim, const Scalar* part,
                     const Scalar* part_log_sums, Scalar* context, Scalar* log_sums) {
  for (std::int64_t i = 0; i < rows * heads; ++i) {
    const double other = static_cast<double>(part_log_sums[i]), own = static_cast<double>(log_sums[i]);
    const double larger = own > other ? own : other;
    const double sum = larger + __builtin_log(__builtin_exp(own - larger) + __builtin_exp(other - larger));
    const auto own_weight = static_cast<Scalar>(__builtin_exp(own - sum));
    const auto weight = static_cast<Scalar>(__builtin_exp(other - sum));
    Scalar* out = context + i * head_dim;
    for_parts(head_dim, [&](auto lanes, std::int64_t c) {
      lanes.store(out + c, own_weight * lanes.load(out + c) + weight * lanes.load(part + i * head_dim + c));
    });
    log_sums[i] = static_cast<Scalar>(sum);
  }
}

}  // namespace

void add_attention_blocks(Kernels<Scalar>& table) {
  table.attention_block_forward = attention_block_forward;
  table.attention_block_backward = attention_block_backward;
  table.attention_merge = attention_merge;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
