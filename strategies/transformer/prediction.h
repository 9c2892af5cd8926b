// Multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2). Module k behind the last layer, h_0 its output:
//
//   x   = [norm(h_{k-1}), norm(embedding of the tokens k ahead)] M        M: 2 hidden -> hidden
//   h_k = layer(x),  loss_k = cross entropy of head(norm_k(h_k))
//
// Embedding and head are the model's. All modules stand on the last stage; where that does not hold the embedding it
// has a copy, whose gradient is summed with the first stage's as that of a tied table. M is split by columns over the
// tensor ranks and its output gathered, under sequence parallelism every rank keeps its rows (Megatron-Core).
#pragma once

#include <optional>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/gradient_buckets.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// Module `index` up to its loss. `keep` as for a layer.
void write_prediction_forward(BlockWriter& writer, const Stage& stage, int index, bool keep);
/// `later`: what module index + 1 adds to the gradient of this one's output; freed. Returns what this one adds to the
/// gradient of h_{index-1}.
BufferId write_prediction_backward(BlockWriter& writer, const Stage& stage, int index, std::optional<BufferId> later,
                                   GradientBuckets& buckets);

}  // namespace strategies
