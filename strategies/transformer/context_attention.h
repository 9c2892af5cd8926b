// Attention of sequences that are split over the context ranks: the kernels and what moves between them.
//
// Kept for the backward pass:
//   ring        in the packed buffer, in place of the rank's own, the keys and values that came last: there the way
//   back
//               begins (Transformer Engine)
//   all-gather  the rank's own
//   all-to-all  in the packed buffer queries, keys and values of all tokens and a share of the heads, and their output
// Where the backward pass computes attention again, the forward pass leaves the packed buffer as it is.
#pragma once

#include <string>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// {packed} -> {context, softmax}. Precondition: context > 1, and so below.
void write_context_attention(BlockWriter& writer, const Stage& stage, int layer);
/// Frees what it alone keeps.
void write_context_attention_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId output_gradient,
                                      BufferId packed_gradient);

/// Which forward pass it is.
struct AttentionPass {
  bool keeps = true;          ///< the backward pass follows without another one
  bool output_there = false;  ///< it runs again and only what belongs to the kernel is missing
};

// The forms.
void write_ring_attention(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers, AttentionPass pass);
void write_ring_attention_backward(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers,
                                   BufferId output_gradient, BufferId packed_gradient);
void write_gathered_attention(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers, AttentionPass pass);
void write_gathered_attention_backward(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers,
                                       BufferId output_gradient, BufferId packed_gradient);
void write_head_attention(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers, AttentionPass pass);
void write_head_attention_backward(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers,
                                   BufferId output_gradient, BufferId packed_gradient);

/// Bytes of one rank's keys and values.
std::int64_t keys_and_values_bytes(const Shapes& shapes);
/// {from} -> {to} over the context group, on the context lane.
OperationId write_context_exchange(BlockWriter& writer, const Stage& stage, CollectiveKind kind, std::int64_t bytes,
                                   const std::string& label, BufferId from, BufferId to);
/// A pass that puts rows into another order.
void write_reordering(BlockWriter& writer, const Stage& stage, const std::string& label, std::int64_t bytes,
                      BlockWriter::Buffers from, BufferId to);

}  // namespace strategies
