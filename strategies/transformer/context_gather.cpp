// Every context rank gathers all keys and values, forward and backward again, and scatters the sum of their gradients
// (Llama 3, arXiv:2407.21783, section 3.3.2; Megatron-Core: cp_comm_type all_gather). Nothing runs beside it. Balanced,
// or of several sequences, the pieces come in another order than the tokens' and are put right by a copy.
#include <string>

#include "strategies/transformer/context_attention.h"
#include "strategies/transformer/context_tiles.h"

namespace strategies {
namespace {

/// By the piece of a sequence that the queries are of.
std::string gathered_label(int piece) { return "attention-gathered-" + std::to_string(piece); }

std::int64_t all_bytes(const Stage& stage) { return stage.plan.context * keys_and_values_bytes(stage.shapes); }

/// Into the order of the tokens, or back, in a new buffer if they do not lie so already; frees `from` then.
BufferId reordered(BlockWriter& writer, const Stage& stage, BufferId from, const char* name, const char* label) {
  if (!stage.implementation.balanced_context && stage.shapes.batch == 1) return from;
  const BufferId ordered = writer.temporary(name, all_bytes(stage));
  write_reordering(writer, stage, label, all_bytes(stage), {from}, ordered);
  writer.free(from);
  return ordered;
}

BufferId gather(BlockWriter& writer, const Stage& stage, BufferId packed) {
  const BufferId gathered = writer.temporary("gathered-keys-values", all_bytes(stage));
  writer.wait_for(write_context_exchange(writer, stage, CollectiveKind::kAllGather, all_bytes(stage),
                                         "gather-keys-values", packed, gathered));
  return reordered(writer, stage, gathered, "ordered-keys-values", "order-keys-values");
}

}  // namespace

void write_gathered_attention(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers,
                              AttentionPass pass) {
  const BufferId keys = gather(writer, stage, buffers.qkv);
  BlockWriter::Buffers writes{buffers.softmax};
  if (!pass.output_there) writes.insert(writes.begin(), buffers.context);
  int piece = 0;
  for (const hw_models::Attention& tile : gathered_tiles(stage, false, stage.window(writer.layer()))) {
    writer.compute(tile, gathered_label(piece++), {buffers.qkv, keys}, writes);
  }
  writer.free(keys);
}

void write_gathered_attention_backward(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers,
                                       BufferId output_gradient, BufferId packed_gradient) {
  const BufferId keys = gather(writer, stage, buffers.qkv);
  const BufferId gradients = writer.temporary("gathered-gradients", all_bytes(stage));
  int piece = 0;
  for (const hw_models::Attention& tile : gathered_tiles(stage, true, stage.window(writer.layer()))) {
    writer.compute(tile, gathered_label(piece++) + "-backward",
                   {buffers.qkv, keys, buffers.context, buffers.softmax, output_gradient},
                   {packed_gradient, gradients});
  }
  writer.free(keys);
  const BufferId ordered = reordered(writer, stage, gradients, "ordered-gradients", "order-gradients");
  writer.wait_for(write_context_exchange(writer, stage, CollectiveKind::kReduceScatter, all_bytes(stage),
                                         "scatter-keys-values-gradients", ordered, packed_gradient));
  writer.free(ordered);
}

}  // namespace strategies
