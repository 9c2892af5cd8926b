#include "strategies/transformer/layer_parts.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

hw_models::Attention attention_kernel(const Stage& stage, bool backward) {
  const Shapes& s = stage.shapes;
  hw_models::Attention kernel;
  kernel.batch = s.batch;
  kernel.heads = s.heads;
  kernel.kv_heads = s.kv_heads;
  kernel.query_length = kernel.key_length = s.sequence;
  kernel.head_dim = kernel.value_dim = s.head_dim;
  kernel.backward = backward;
  kernel.dropout = stage.implementation.dropout;
  kernel.kernel = stage.implementation.attention;
  kernel.dtype = s.activation;
  return kernel;
}

ElementwiseKind activation_kind(const ModelSpec& model) {
  switch (model.activation) {
    case Activation::kSilu:
      return ElementwiseKind::kSwiglu;
    case Activation::kSquaredRelu:
      return ElementwiseKind::kSquaredRelu;
    case Activation::kRelu:
      return ElementwiseKind::kRelu;
    case Activation::kGelu:
      break;
  }
  return ElementwiseKind::kGelu;
}

}  // namespace

Moved gather_stream(BlockWriter& writer, const Stage& stage, BufferId stream) {
  if (!stage.plan.sequence_parallel || !stage.tensor_parallel()) return {stream, std::nullopt};
  const std::int64_t bytes = stage.shapes.full_bytes();
  const BufferId gathered = writer.temporary("gathered", bytes);
  return {gathered, writer.collective(CollectiveKind::kAllGather, stage.groups.tensor, bytes, stage.shapes.activation,
                                      Lane::kTensor, "gather-sequence", {stream}, {gathered})};
}

Moved reduce_stream(BlockWriter& writer, const Stage& stage, BufferId partial, std::optional<BufferId> into) {
  if (!stage.tensor_parallel()) return {partial, std::nullopt};
  const std::int64_t bytes = stage.shapes.full_bytes();
  if (!stage.plan.sequence_parallel) {
    return {partial, writer.collective(CollectiveKind::kAllReduce, stage.groups.tensor, bytes, stage.shapes.activation,
                                       Lane::kTensor, "reduce-tensor", {partial}, {partial})};
  }
  const BufferId scattered = into ? *into : writer.temporary("scattered", stage.shapes.stream_bytes());
  const OperationId operation =
      writer.collective(CollectiveKind::kReduceScatter, stage.groups.tensor, bytes, stage.shapes.activation,
                        Lane::kTensor, "scatter-sequence", {partial}, {scattered});
  writer.free(partial);
  return {scattered, operation};
}

void write_input_gradient(BlockWriter& writer, const Stage& stage, const Parameter& weight, const std::string& label,
                          BufferId dy, std::int64_t in, std::int64_t out, BufferId dx) {
  const Shapes& s = stage.shapes;
  const hw_models::Matmul kernel{.m = s.tokens, .n = in, .k = out, .dtype = s.matmul, .output = s.activation};
  writer.compute(kernel, label + "-dgrad", {dy, weight.weight}, {dx});
}

void write_weight_gradient(BlockWriter& writer, const Stage& stage, const Parameter& weight, const std::string& label,
                           BufferId dy, BufferId x, std::int64_t in, std::int64_t out) {
  const hw_models::Matmul kernel{.m = out,
                                 .n = in,
                                 .k = stage.shapes.tokens,
                                 .dtype = stage.shapes.matmul,
                                 .output = stage.implementation.gradient,
                                 .accumulate = true,
                                 .transpose_a = true};
  const Phase phase = writer.phase();
  writer.at(writer.layer(), Phase::kWeightGradient);
  writer.compute(kernel, label + "-wgrad", {dy, x}, {weight.gradient});
  writer.at(writer.layer(), phase);
}

BufferId write_column_backward(BlockWriter& writer, const Stage& stage, const Parameter& weight,
                               const std::string& label, BufferId dy, BufferId normed, std::int64_t out,
                               GradientBuckets& buckets) {
  const bool overlap = stage.implementation.overlap_weight_gradient;
  const std::int64_t hidden = stage.shapes.hidden;
  const Moved gathered = gather_stream(writer, stage, normed);
  const BufferId partial = writer.temporary("gradient-normed", stage.shapes.full_bytes());
  write_input_gradient(writer, stage, weight, label, dy, hidden, out, partial);
  const Moved reduced = reduce_stream(writer, stage, partial);
  if (!overlap) reduced.await(writer);
  gathered.await(writer);
  write_weight_gradient(writer, stage, weight, label, dy, gathered.buffer, hidden, out);
  if (gathered.buffer != normed) writer.free(gathered.buffer);
  writer.free(dy);
  writer.free(normed);
  buckets.ready(weight);
  if (overlap) reduced.await(writer);
  return reduced.buffer;
}

void write_attention_forward(BlockWriter& writer, const Stage& stage, int layer) {
  const LayerBuffers& b = stage.layers.at(layer);
  writer.compute(attention_kernel(stage, false), "attention", {b.qkv}, {b.context, b.softmax});
}

void write_attention_recompute(BlockWriter& writer, const Stage& stage, int layer) {
  const LayerBuffers& b = stage.layers.at(layer);
  writer.at(layer, Phase::kRecompute);
  writer.compute(attention_kernel(stage, false), "attention", {b.qkv}, {b.softmax});
  writer.at(layer, Phase::kBackward);
}

void write_attention_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId output_gradient,
                              BufferId qkv_gradient) {
  const LayerBuffers& b = stage.layers.at(layer);
  writer.compute(attention_kernel(stage, true), "attention-backward", {b.qkv, b.context, b.softmax, output_gradient},
                 {qkv_gradient});
}

void write_activation_forward(BlockWriter& writer, const Stage& stage, BufferId up, BufferId activated) {
  const Shapes& s = stage.shapes;
  const std::int64_t elements = s.tokens * s.ffn;
  const std::int64_t in = s.tokens * s.up * s.activation_bytes;
  const std::int64_t out = elements * s.activation_bytes;
  if (!stage.implementation.fused_elementwise) {  // bias add, or the gate's product, in a pass of its own
    writer.compute(Elementwise{ElementwiseKind::kAdd, s.tokens * s.up, in, in, false}, "mlp-bias", {up}, {up});
  }
  writer.compute(Elementwise{activation_kind(stage.model), elements, in, out, false}, "activation", {up}, {activated});
}

void write_activation_backward(BlockWriter& writer, const Stage& stage, BufferId up, BufferId activated_gradient,
                               BufferId up_gradient) {
  const Shapes& s = stage.shapes;
  const std::int64_t elements = s.tokens * s.ffn;
  const std::int64_t wide = s.tokens * s.up * s.activation_bytes;
  writer.compute(
      Elementwise{activation_kind(stage.model), s.tokens * s.up, wide + elements * s.activation_bytes, wide, true},
      "activation-backward", {up, activated_gradient}, {up_gradient});
}

}  // namespace strategies
