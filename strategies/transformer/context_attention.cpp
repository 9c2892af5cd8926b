#include "strategies/transformer/context_attention.h"

#include <utility>

namespace strategies {

void write_context_attention(BlockWriter& writer, const Stage& stage, int layer) {
  const LayerBuffers& buffers = stage.layers.at(layer);
  const bool again = writer.phase() == Phase::kRecompute;
  const Recompute recompute = stage.recompute_of(layer);
  const AttentionPass pass{.keeps = again || recompute == Recompute::kNone,
                           .output_there = again && recompute == Recompute::kSelective};
  switch (stage.implementation.context_exchange) {
    case ContextExchange::kRing:
      write_ring_attention(writer, stage, buffers, pass);
      break;
    case ContextExchange::kAllGather:
      write_gathered_attention(writer, stage, buffers, pass);
      break;
    case ContextExchange::kAllToAll:
      write_head_attention(writer, stage, buffers, pass);
      break;
  }
}

void write_context_attention_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId output_gradient,
                                      BufferId packed_gradient) {
  const LayerBuffers& buffers = stage.layers.at(layer);
  switch (stage.implementation.context_exchange) {
    case ContextExchange::kRing:
      write_ring_attention_backward(writer, stage, buffers, output_gradient, packed_gradient);
      break;
    case ContextExchange::kAllGather:
      write_gathered_attention_backward(writer, stage, buffers, output_gradient, packed_gradient);
      break;
    case ContextExchange::kAllToAll:
      write_head_attention_backward(writer, stage, buffers, output_gradient, packed_gradient);
      break;
  }
}

std::int64_t keys_and_values_bytes(const Shapes& shapes) {
  return shapes.tokens * (shapes.qkv - shapes.query) * shapes.activation_bytes;
}

OperationId write_context_exchange(BlockWriter& writer, const Stage& stage, CollectiveKind kind, std::int64_t bytes,
                                   const std::string& label, BufferId from, BufferId to) {
  return writer.collective(kind, stage.groups.context, bytes, stage.shapes.activation, Lane::kContext, label, {from},
                           {to});
}

void write_reordering(BlockWriter& writer, const Stage& stage, const std::string& label, std::int64_t bytes,
                      BlockWriter::Buffers from, BufferId to) {
  const bool backward = writer.phase() == Phase::kBackward;
  const hw_models::Elementwise copy{hw_models::ElementwiseKind::kCopy, bytes / stage.shapes.activation_bytes, bytes,
                                    bytes, backward};
  writer.compute(copy, label, std::move(from), {to});
}

}  // namespace strategies
