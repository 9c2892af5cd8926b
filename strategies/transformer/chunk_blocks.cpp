#include "strategies/transformer/chunk_blocks.h"

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/ends.h"
#include "strategies/transformer/gradient_buckets.h"
#include "strategies/transformer/layer.h"

namespace strategies {
namespace {

Block empty_block(const Stage& stage, const Chunk& chunk, BlockKind kind, Variant variant) {
  return {kind, variant, chunk.index, chunk.virtual_stage, stage.implementation.cuda_graphs, {}};
}

/// Without sequence parallelism every tensor rank holds the whole stream; each then sends its share and the
/// receivers put it together over the tensor group (Narayanan et al., SC'21, section 4.1).
bool scatters_messages(const Stage& stage) {
  return stage.implementation.scatter_gather_messages && stage.tensor_parallel() && !stage.plan.sequence_parallel;
}

std::int64_t message_bytes(const Stage& stage) {
  const std::int64_t stream = stage.shapes.stream_bytes();
  return scatters_messages(stage) ? stream / stage.plan.tensor : stream;
}

void await_message(BlockWriter& writer, const Stage& stage, OperationId received) {
  if (stage.implementation.blocking_receives) writer.host(HostReason::kBlockingReceive, {received});
}

void receive_stream(BlockWriter& writer, const Stage& stage, int from, Payload payload, Lane lane, BufferId stream) {
  if (!scatters_messages(stage)) {
    await_message(writer, stage, writer.receive(from, message_bytes(stage), payload, lane, stream));
    return;
  }
  const BufferId part = writer.temporary("message", message_bytes(stage));
  const OperationId received = writer.receive(from, message_bytes(stage), payload, lane, part);
  await_message(writer, stage, received);
  const OperationId gathered =
      writer.collective(CollectiveKind::kAllGather, stage.groups.tensor, stage.shapes.stream_bytes(),
                        stage.shapes.activation, Lane::kTensor, "gather-message", {part}, {stream});
  writer.add_dependence(gathered, received);
  writer.free(part);
  writer.wait_for(gathered);
}

BufferId first_input(Stage& stage, const Chunk& chunk) {
  return chunk.layers > 0 ? stage.layers.at(chunk.first_layer).input : stage.head_input;
}

}  // namespace

std::uint32_t write_forward_block(Stage& stage, const Chunk& chunk, std::int64_t samples) {
  BlockWriter writer(stage.role, empty_block(stage, chunk, BlockKind::kForward, Variant::kOnly),
                     stage.implementation.blocking_launches);
  const bool passes_through = chunk.layers == 0 && !chunk.last();
  BufferId outgoing = stage.head_input;
  if (!chunk.last()) outgoing = writer.temporary("outgoing", stage.shapes.stream_bytes());
  const BufferId incoming = passes_through ? outgoing : first_input(stage, chunk);
  writer.at(-1, Phase::kForward);
  if (chunk.first()) {
    writer.host(HostReason::kInput, {}, samples);
    write_embedding_forward(writer, stage, incoming);
  } else {
    receive_stream(writer, stage, chunk.virtual_stage - 1, Payload::kActivation, Lane::kReceivePrevious, incoming);
  }
  const bool keep = stage.plan.recompute != Recompute::kFull;
  for (int layer = chunk.first_layer; layer < chunk.first_layer + chunk.layers; ++layer) {
    const bool is_last = layer + 1 == chunk.first_layer + chunk.layers;
    write_layer_forward(writer, stage, layer, is_last ? outgoing : stage.layers.at(layer + 1).input, keep);
  }
  writer.at(-1, Phase::kForward);
  if (chunk.last()) {
    write_head_forward(writer, stage);
  } else {
    writer.send(chunk.virtual_stage + 1, message_bytes(stage), Payload::kActivation, Lane::kSendNext, outgoing);
    writer.free(outgoing);
  }
  return writer.finish();
}

std::uint32_t write_backward_block(Stage& stage, const Chunk& chunk, Variant variant, bool reduce) {
  BlockWriter writer(stage.role, empty_block(stage, chunk, BlockKind::kBackward, variant),
                     stage.implementation.blocking_launches);
  GradientBuckets buckets(writer, stage, reduce);
  writer.at(-1, Phase::kBackward);
  BufferId gradient;
  if (chunk.last()) {
    gradient = write_head_backward(writer, stage, buckets);
  } else {
    gradient = writer.temporary("gradient-stream", stage.shapes.stream_bytes());
    receive_stream(writer, stage, chunk.virtual_stage + 1, Payload::kGradient, Lane::kReceiveNext, gradient);
  }
  for (int layer = chunk.first_layer + chunk.layers - 1; layer >= chunk.first_layer; --layer) {
    if (stage.plan.recompute == Recompute::kFull) write_layer_recompute(writer, stage, layer);
    gradient = write_layer_backward(writer, stage, layer, gradient, buckets);
  }
  writer.at(-1, Phase::kBackward);
  if (chunk.first()) {
    write_embedding_backward(writer, stage, gradient, buckets);
  } else {
    writer.send(chunk.virtual_stage - 1, message_bytes(stage), Payload::kGradient, Lane::kSendPrevious, gradient);
    writer.free(gradient);
  }
  buckets.flush();
  return writer.finish();
}

}  // namespace strategies
