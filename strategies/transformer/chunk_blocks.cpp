#include "strategies/transformer/chunk_blocks.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/ends.h"
#include "strategies/transformer/gradient_buckets.h"
#include "strategies/transformer/layer.h"
#include "strategies/transformer/layer_parts.h"
#include "strategies/transformer/prediction.h"
#include "strategies/transformer/weight_window.h"

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
  return chunk.layers > 0 ? stage.layers.at(chunk.first_layer).input : stage.head.input;
}

bool passes_through(const Chunk& chunk) { return chunk.layers == 0 && !chunk.last(); }

/// Where a chunk leaves its output: with the loss, with the next chunk of this stage, or in a message.
BufferId output_of(BlockWriter& writer, const Stage& stage, const Chunk& chunk) {
  if (chunk.last()) return stage.head.input;
  if (chunk.next_here || (chunk.previous_here && passes_through(chunk))) return *stage.handed_activation;
  return writer.temporary("outgoing", stage.shapes.stream_bytes());
}

std::vector<int> layers_of(const Chunk& chunk) {
  std::vector<int> layers(static_cast<std::size_t>(chunk.layers));
  std::iota(layers.begin(), layers.end(), chunk.first_layer);
  return layers;
}

/// Layers in order of forward use, extra prediction layers behind the last.
std::vector<int> units_of(const Stage& stage, const Chunk& chunk) {
  std::vector<int> layers = layers_of(chunk);
  if (!chunk.last()) return layers;
  for (const PredictionBuffers& prediction : stage.predictions) layers.push_back(prediction.head.layer);
  return layers;
}

/// The losses, and everything behind the last layer. Returns the gradient of its output.
BufferId write_losses_backward(BlockWriter& writer, Stage& stage, GradientBuckets& buckets, WeightWindow& weights) {
  std::optional<BufferId> more;
  for (int k = static_cast<int>(stage.predictions.size()) - 1; k >= 0; --k) {
    const int layer = stage.predictions[static_cast<std::size_t>(k)].head.layer;
    weights.enter(layer);
    more = write_prediction_backward(writer, stage, k, more, buckets);
    weights.leave(layer, true);
    buckets.unit_done();
  }
  const BufferId gradient = write_head_backward(writer, stage, stage.head, buckets);
  if (!more) return gradient;
  write_stream_sum(writer, stage, "prediction-gradient-sum", gradient, *more);
  writer.free(*more);
  return gradient;
}

/// The head with its loss, and every extra prediction layer with another.
void write_losses_forward(BlockWriter& writer, Stage& stage, WeightWindow& weights) {
  write_head_forward(writer, stage, stage.head);
  for (int k = 0; k < static_cast<int>(stage.predictions.size()); ++k) {
    const int layer = stage.predictions[static_cast<std::size_t>(k)].head.layer;
    weights.enter(layer);
    write_prediction_forward(writer, stage, k, stage.recompute_of(layer) != Recompute::kFull);
    weights.leave(layer, false);
  }
}

/// Input gradients of the whole chunk, and its weight gradients unless `buckets` defers them.
void write_backward(BlockWriter& writer, Stage& stage, const Chunk& chunk, GradientBuckets& buckets) {
  std::vector<int> layers = layers_of(chunk);
  std::ranges::reverse(layers);
  std::vector<int> units = units_of(stage, chunk);
  std::ranges::reverse(units);
  WeightWindow weights(writer, stage, std::move(units), chunk.index, false);
  writer.at(-1, Phase::kBackward);
  // Of what belongs to no layer the backward pass reads only the LM head; what was kept for it goes now, too.
  weights.open(chunk.last() || stage.plan.pipeline == 1);
  const std::optional<BufferId> into = chunk.previous_here ? stage.handed_gradient : std::nullopt;
  BufferId gradient;
  if (chunk.last()) {
    gradient = write_losses_backward(writer, stage, buckets, weights);
  } else if (chunk.next_here) {
    gradient = *stage.handed_gradient;
  } else {
    gradient = into && chunk.layers == 0 ? *into : stream_gradient(writer, stage, buckets);
    receive_stream(writer, stage, chunk.virtual_stage + 1, Payload::kGradient, Lane::kReceiveNext, gradient);
  }
  for (const int layer : layers) {
    weights.enter(layer);
    if (stage.recompute_of(layer) == Recompute::kFull) write_layer_recompute(writer, stage, layer);
    const bool lowest = layer == chunk.first_layer;
    gradient = write_layer_backward(writer, stage, layer, gradient, buckets, lowest ? into : std::nullopt);
    weights.leave(layer, true);
    buckets.unit_done();
  }
  writer.at(-1, Phase::kBackward);
  if (chunk.first()) {
    write_embedding_backward(writer, stage, gradient, buckets);
  } else if (!chunk.previous_here) {
    writer.send(chunk.virtual_stage - 1, message_bytes(stage), Payload::kGradient, Lane::kSendPrevious, gradient);
    writer.free(gradient);
  }
  weights.close(true);
}

}  // namespace

std::uint32_t write_forward_block(Stage& stage, const Chunk& chunk, Variant variant, std::int64_t samples) {
  BlockWriter writer(stage.role, empty_block(stage, chunk, BlockKind::kForward, variant),
                     stage.implementation.blocking_launches);
  WeightWindow weights(writer, stage, units_of(stage, chunk), chunk.index, variant != Variant::kMiddle);
  const BufferId outgoing = output_of(writer, stage, chunk);
  const BufferId incoming = passes_through(chunk) ? outgoing : first_input(stage, chunk);
  writer.at(-1, Phase::kForward);
  weights.open(chunk.first() || chunk.last());
  if (chunk.first()) {
    writer.host(HostReason::kInput, {}, samples);
    write_embedding_forward(writer, stage, incoming);
  } else if (!chunk.previous_here) {
    receive_stream(writer, stage, chunk.virtual_stage - 1, Payload::kActivation, Lane::kReceivePrevious, incoming);
  }
  for (int layer = chunk.first_layer; layer < chunk.first_layer + chunk.layers; ++layer) {
    const bool keep = stage.recompute_of(layer) != Recompute::kFull;
    const bool is_last = layer + 1 == chunk.first_layer + chunk.layers;
    weights.enter(layer);
    write_layer_forward(writer, stage, layer, is_last ? outgoing : stage.layers.at(layer + 1).input, keep);
    weights.leave(layer, false);
  }
  writer.at(-1, Phase::kForward);
  if (chunk.last()) {
    write_losses_forward(writer, stage, weights);
  } else if (!chunk.next_here) {
    writer.send(chunk.virtual_stage + 1, message_bytes(stage), Payload::kActivation, Lane::kSendNext, outgoing);
    writer.free(outgoing);
  }
  weights.close(false);
  return writer.finish();
}

std::uint32_t write_input_block(Stage& stage, const Chunk& chunk, DeferredGradients& later) {
  BlockWriter writer(stage.role, empty_block(stage, chunk, BlockKind::kBackwardInput, Variant::kOnly),
                     stage.implementation.blocking_launches);
  GradientBuckets buckets(writer, stage, true, &later);
  write_backward(writer, stage, chunk, buckets);
  return writer.finish();
}

std::uint32_t write_weight_block(Stage& stage, const Chunk& chunk, const DeferredGradients& gradients, Variant variant,
                                 bool reduce) {
  BlockWriter writer(stage.role, empty_block(stage, chunk, BlockKind::kBackwardWeight, variant),
                     stage.implementation.blocking_launches);
  GradientBuckets buckets(writer, stage, reduce);
  for (const DeferredGradient& gradient : gradients) {
    writer.at(gradient.layer, Phase::kWeightGradient);
    if (!gradient.product) {
      buckets.ready(*gradient.parameter);
      continue;
    }
    write_weight_product(writer, stage, *gradient.parameter, *gradient.product);
    writer.free(gradient.product->dy);
    // Both down-projections of latent attention read the same rows.
    const bool again = std::any_of(
        &gradient + 1, gradients.data() + gradients.size(),
        [&](const DeferredGradient& later) { return later.product && later.product->x == gradient.product->x; });
    if (!again) writer.free(gradient.product->x);
  }
  buckets.flush();
  return writer.finish();
}

std::uint32_t write_backward_block(Stage& stage, const Chunk& chunk, Variant variant, bool reduce) {
  BlockWriter writer(stage.role, empty_block(stage, chunk, BlockKind::kBackward, variant),
                     stage.implementation.blocking_launches);
  GradientBuckets buckets(writer, stage, reduce);
  write_backward(writer, stage, chunk, buckets);
  buckets.flush();
  return writer.finish();
}

}  // namespace strategies
