// The two ends of the model: embedding in front, final norm, LM head and loss behind.
#pragma once

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/gradient_buckets.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// Tokens -> residual stream in `output`. The table is split by vocabulary rows over the tensor group.
void write_embedding_forward(BlockWriter& writer, const Stage& stage, BufferId output);
/// Frees `gradient`.
void write_embedding_backward(BlockWriter& writer, const Stage& stage, BufferId gradient, GradientBuckets& buckets);

/// Residual stream in `stage.head_input` -> loss. Logits are split by vocabulary columns over the tensor group; the
/// loss needs the maximum, the target's logit and the sum of exponentials from all of them.
void write_head_forward(BlockWriter& writer, const Stage& stage);
/// Returns the gradient of `stage.head_input`.
BufferId write_head_backward(BlockWriter& writer, const Stage& stage, GradientBuckets& buckets);

}  // namespace strategies
