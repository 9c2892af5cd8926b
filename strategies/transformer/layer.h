// Forward, recomputation and backward of one transformer layer (Megatron's tensor parallelism: the first matrix of
// attention and MLP is split by columns, the second by rows; Shoeybi et al., arXiv:1909.08053, Korthikanti et al.,
// arXiv:2205.05198 for sequence parallelism).
#pragma once

#include <optional>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/gradient_buckets.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// Writes the forward of `layer`, reading its input buffer and writing `output` (the next layer's input). With
/// `keep` false every intermediate is freed after its last use.
void write_layer_forward(BlockWriter& writer, const Stage& stage, int layer, BufferId output, bool keep);

/// Runs the forward again to have the kept activations back (recompute: full).
void write_layer_recompute(BlockWriter& writer, const Stage& stage, int layer);

/// Writes the backward of `layer`. `gradient` is that of the layer's output [tokens_between, hidden]; returns the
/// buffer with the gradient of its input, `into` where that is given. Frees every kept activation but the operands of
/// products that `buckets` defers.
BufferId write_layer_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId gradient,
                              GradientBuckets& buckets, std::optional<BufferId> into = {});

}  // namespace strategies
