// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) as it is trained, without a cache:
//
//   latents           c_q = x W_dq,  [c_kv, k_r] = x W_dkv         x: the normed stream, the rank's own rows
//   normed, gathered  under sequence parallelism; narrower than the stream that other attention gathers
//   heads             q = norm(c_q) W_uq,  [k_c, v] = norm(c_kv) W_ukv
//   rotation          the last columns of every query; k_r once for all heads, then set behind every head's k_c
//   attention         over heads x (nope + rope) columns of queries and keys, heads x value columns of values
//
// W_dq and W_dkv are whole on every tensor rank and multiply its own rows, as in Megatron-Core; their gradients are
// summed with those of the norms. W_uq and W_ukv are split by heads. Without a query latent q = x W_q.
#pragma once

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/gradient_buckets.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// The layer's input -> packed queries, keys and values. `keep`: what the backward pass reads stays.
void write_latent_forward(BlockWriter& writer, const Stage& stage, int layer, bool keep);
/// Packed queries, keys and values again, from the latents.
void write_latent_recompute(BlockWriter& writer, const Stage& stage, int layer);
/// Frees the gradient of the packed buffer and the latents; returns the gradient of the normed stream, this rank's
/// rows.
BufferId write_latent_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId packed_gradient,
                               GradientBuckets& buckets);

}  // namespace strategies
