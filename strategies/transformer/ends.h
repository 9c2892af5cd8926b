// The two ends of the model: embedding in front, final norm, LM head and loss behind.
#pragma once

#include <optional>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/gradient_buckets.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// Tokens -> residual stream in `output`. The table is split by vocabulary rows over the tensor group.
void write_embedding_forward(BlockWriter& writer, const Stage& stage, BufferId output);
/// Frees `gradient`.
void write_embedding_backward(BlockWriter& writer, const Stage& stage, BufferId gradient, GradientBuckets& buckets);

/// The rows of the tokens in `table`, summed over the tensor group, in `output` or a new buffer.
BufferId write_token_rows(BlockWriter& writer, const Stage& stage, const Parameter& table,
                          std::optional<BufferId> output);
/// Adds the gradients of all tokens' rows to that of `table`, and of the position table if it is not null.
/// Frees `gradient` [tokens_between, hidden].
void write_token_rows_backward(BlockWriter& writer, const Stage& stage, const Parameter& table,
                               const Parameter* position, BufferId gradient);

/// Residual stream in `head.input` -> loss. Logits are split by vocabulary columns over the tensor group; the
/// loss needs the maximum, the target's logit and the sum of exponentials from all of them.
void write_head_forward(BlockWriter& writer, const Stage& stage, const Head& head);
/// Returns the gradient of `head.input`, which is freed. The model's own head is the last to add to the shared table.
BufferId write_head_backward(BlockWriter& writer, const Stage& stage, const Head& head, GradientBuckets& buckets);

}  // namespace strategies
