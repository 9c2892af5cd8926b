// Pieces that forward, recomputation and backward of a layer share.
#pragma once

#include <optional>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/gradient_buckets.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// A tensor on its way over the tensor group, or one that did not have to move.
struct Moved {
  BufferId buffer;
  std::optional<OperationId> operation;

  /// The next compute operation of `writer` waits for it.
  void await(BlockWriter& writer) const {
    if (operation) writer.wait_for(*operation);
  }
};

/// Sequence parallelism: the tensor ranks' rows `local` together, `bytes` in all, in `into` or a new buffer `name`.
/// Otherwise nothing.
Moved gather_sequence(BlockWriter& writer, const Stage& stage, BufferId local, std::int64_t bytes,
                      hw_models::DType dtype, const char* name, std::optional<BufferId> into);
/// Sequence parallelism: [tokens / tensor, columns] -> [tokens, columns] in `into` or a new buffer. Otherwise nothing.
Moved gather_rows(BlockWriter& writer, const Stage& stage, BufferId local, std::int64_t columns,
                  std::optional<BufferId> into = {});
/// The same of the residual stream.
Moved gather_stream(BlockWriter& writer, const Stage& stage, BufferId stream, std::optional<BufferId> into = {});
/// Frees what was gathered from `stream` unless that is `stream` itself or survives the step.
void free_gathered(BlockWriter& writer, BufferId gathered, BufferId stream);

/// Partial sums [tokens, columns] of the tensor ranks -> their rows. Reduce-scatter under sequence parallelism
/// (into `into` or a new buffer; the partial sums are freed), all-reduce in place otherwise.
Moved reduce_rows(BlockWriter& writer, const Stage& stage, BufferId partial, std::int64_t columns,
                  std::optional<BufferId> into = {});
/// The same of the residual stream.
Moved reduce_stream(BlockWriter& writer, const Stage& stage, BufferId partial, std::optional<BufferId> into = {});

/// dx[tokens, in] = dy[tokens, out] W[out, in], both of `dtype`; of the rank's own rows alone with `own_rows`.
void write_input_gradient(BlockWriter& writer, const Stage& stage, const Parameter& weight, const std::string& label,
                          BufferId dy, std::int64_t in, std::int64_t out, BufferId dx, hw_models::DType dtype,
                          bool own_rows = false);
/// A product of every group in one kernel where the stack has grouped ones, else in one for each.
void write_grouped(BlockWriter& writer, const Stage& stage, hw_models::Matmul kernel, const std::string& label,
                   const BlockWriter::Buffers& reads, BufferId output);
/// dW[out, in] += dy^T `x`, the product's own x or that gathered.
void write_weight_gradient(BlockWriter& writer, const Stage& stage, const Parameter& weight,
                           const WeightProduct& product, BufferId x);
/// Whether products stay until the backward ends: only those narrower than the gradient they were added to.
bool keeps_products(const Stage& stage);
/// Gradient of a bias: the sum of dy[tokens, columns] over its rows; of a bias that every tensor rank holds, over the
/// rank's own rows (tokens_between).
void write_bias_gradient(BlockWriter& writer, const Stage& stage, const Parameter& bias, const std::string& label,
                         BufferId dy, std::int64_t columns);
/// Backward of a matrix split by columns behind a norm: the input gradient is a partial sum to be reduced, which may
/// run beside the weight gradient; under sequence parallelism `normed` is gathered again beside the input gradient.
/// Frees dy and `product.x`; returns the gradient of x, of this rank's rows. Where `buckets` defers, the weight
/// gradient, the gather and both operands are left to the later block.
BufferId write_column_backward(BlockWriter& writer, const Stage& stage, const Parameter& weight,
                               const WeightProduct& product, GradientBuckets& buckets);

/// A gradient that ends with this block or, as operand of a product that `buckets` defers, lives as long as that needs.
BufferId gradient_operand(BlockWriter& writer, const GradientBuckets& buckets, const std::string& name,
                          std::int64_t bytes);
/// The gradient of the residual stream: an operand of the row-split products where nothing (dropout, a norm, a gather)
/// stands between.
BufferId stream_gradient(BlockWriter& writer, const Stage& stage, const GradientBuckets& buckets);
/// `sum` += `more`, gradients of this rank's rows of the stream, in automatic differentiation's own pass.
void write_stream_sum(BlockWriter& writer, const Stage& stage, const char* label, BufferId sum, BufferId more);
/// dW += dy^T x: gathers x first where it is the rank's own rows.
void write_weight_product(BlockWriter& writer, const Stage& stage, const Parameter& weight,
                          const WeightProduct& product);

/// One kernel over the tokens and heads of this rank; of a layer whose queries see `window` tokens (0 = all).
hw_models::Attention attention_kernel(const Stage& stage, bool backward, std::int64_t window = 0);

void write_attention_forward(BlockWriter& writer, const Stage& stage, int layer);
/// Selective recomputation: the softmax again; the attention output is still there.
void write_attention_recompute(BlockWriter& writer, const Stage& stage, int layer);
void write_attention_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId output_gradient,
                              BufferId qkv_gradient);

/// Rotation of the queries and keys in the packed projection, in place.
hw_models::Elementwise rotary_kernel(const Stage& stage, bool backward);
/// What a stack with composed passes moves beyond a norm's one kernel; nothing otherwise.
void write_composed_norm(BlockWriter& writer, const Stage& stage, BufferId buffer, std::int64_t elements,
                         bool backward);

/// Of an MLP on this rank: rows, columns of `activated` and of `up`.
struct MlpSize {
  std::int64_t rows, ffn, up;
};
MlpSize mlp_size(const Shapes& shapes);

/// `bias`: of the up projection, added to `up` in place or, in fused passes, on the way to `activated`.
void write_activation_forward(BlockWriter& writer, const Stage& stage, const MlpSize& size, BufferId up,
                              std::optional<BufferId> bias, BufferId activated);
/// `bias`: of a fused pass only.
void write_activation_backward(BlockWriter& writer, const Stage& stage, const MlpSize& size, BufferId up,
                               BufferId activated_gradient, std::optional<BufferId> bias, BufferId up_gradient);

}  // namespace strategies
