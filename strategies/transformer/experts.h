// A layer's mixture of experts in place of its MLP (Shazeer et al., arXiv:1701.06538; Megatron-Core's all-to-all token
// dispatcher). Of T = tokens_between rows, k choices each, on ranks that hold E / expert experts of f / expert_tensor:
//
//   router    scores[T, E] = normed W;  route: k of E by score, T k rows copied in order of their experts
//   dispatch  all-to-all over the expert group, all-gather over the expert tensor group; sorted by expert
//   experts   rows -> f -> rows, a product for every expert: in one kernel or one by one (grouped_experts)
//   combine   the way back: reduce-scatter, all-to-all; a token's k rows are summed, weighted by their scores
//   shared    experts that see all tokens: an MLP split over the tensor group, added
//
// The host must read how many rows go where before it can issue the exchange, unless the capacity is fixed.
#pragma once

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/gradient_buckets.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// Creates what the layer keeps. `kept`: beyond its block; `operand_kept`: likewise operands of weight gradients.
ExpertBuffers add_expert_buffers(const Stage& stage, int layer, bool kept, bool operand_kept);

/// {mlp_normed} -> `output` [tokens_between, hidden], summed over the tensor ranks. `keep` as for a layer's forward.
void write_experts_forward(BlockWriter& writer, const Stage& stage, int layer, BufferId output, bool keep);

/// `gradient` of that output, which stays; returns that of mlp_normed. Frees what the layer kept, mlp_normed with it.
BufferId write_experts_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId gradient,
                                GradientBuckets& buckets);

}  // namespace strategies
