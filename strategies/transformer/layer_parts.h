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
/// Sequence parallelism: the residual stream [tokens / tensor, hidden] -> [tokens, hidden] in `into` or a new buffer.
/// Otherwise nothing.
Moved gather_stream(BlockWriter& writer, const Stage& stage, BufferId stream, std::optional<BufferId> into = {});
/// Frees what was gathered from `stream` unless that is `stream` itself or survives the step.
void free_gathered(BlockWriter& writer, BufferId gathered, BufferId stream);

/// Partial sums [tokens, hidden] of the tensor ranks -> residual stream. Reduce-scatter under sequence parallelism
/// (into `into` or a new buffer; the partial sums are freed), all-reduce in place otherwise.
Moved reduce_stream(BlockWriter& writer, const Stage& stage, BufferId partial, std::optional<BufferId> into = {});

/// dx[tokens, in] = dy[tokens, out] W[out, in], both of `dtype`
void write_input_gradient(BlockWriter& writer, const Stage& stage, const Parameter& weight, const std::string& label,
                          BufferId dy, std::int64_t in, std::int64_t out, BufferId dx, hw_models::DType dtype);
/// A product of every group in one kernel where the stack has grouped ones, else in one for each.
void write_grouped(BlockWriter& writer, const Stage& stage, hw_models::Matmul kernel, const std::string& label,
                   const BlockWriter::Buffers& reads, BufferId output);
/// dW += dy^T x, of the product's dy and `x`.
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
/// Frees dy and normed; returns the gradient of `normed`. Where `buckets` defers, the weight gradient, the gather and
/// both operands are left to the later block.
BufferId write_column_backward(BlockWriter& writer, const Stage& stage, const Parameter& weight,
                               const std::string& label, BufferId dy, BufferId normed, std::int64_t out,
                               hw_models::DType dtype, GradientBuckets& buckets);

/// A gradient that ends with this block or, as operand of a product that `buckets` defers, lives as long as that needs.
BufferId gradient_operand(BlockWriter& writer, const GradientBuckets& buckets, const std::string& name,
                          std::int64_t bytes);
/// The gradient of the residual stream: an operand of the row-split products where nothing (dropout, a norm, a gather)
/// stands between.
BufferId stream_gradient(BlockWriter& writer, const Stage& stage, const GradientBuckets& buckets);
/// dW += dy^T x: gathers x first where it is the rank's own rows.
void write_weight_product(BlockWriter& writer, const Stage& stage, const Parameter& weight,
                          const WeightProduct& product);

/// One kernel over the tokens and heads of this rank.
hw_models::Attention attention_kernel(const Stage& stage, bool backward);

void write_attention_forward(BlockWriter& writer, const Stage& stage, int layer);
/// Selective recomputation: the softmax again; the attention output is still there.
void write_attention_recompute(BlockWriter& writer, const Stage& stage, int layer);
void write_attention_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId output_gradient,
                              BufferId qkv_gradient);

/// Rotation of the queries and keys in the packed projection, in place.
hw_models::Elementwise rotary_kernel(const Shapes& shapes, bool backward);

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
