#include "strategies/transformer/layer_parts.h"

#include <utility>

#include "strategies/transformer/context_attention.h"
#include "strategies/transformer/narrow_operands.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

constexpr std::int64_t kFp32Bytes = 4;

/// Batched products want heads outermost, the projections want them side by side: unfused attention copies between the
/// two layouts. Flash kernels take both, and so do products over rows with a stride (packed_attention).
void write_layout_copy(BlockWriter& writer, const Stage& stage, BufferId buffer, std::int64_t columns) {
  const bool unfused = stage.implementation.attention == hw_models::AttentionKernel::kUnfused;
  if (!unfused || stage.implementation.packed_attention) return;
  const std::int64_t elements = stage.shapes.tokens * columns;
  const std::int64_t bytes = elements * stage.shapes.activation_bytes;
  writer.compute(Elementwise{ElementwiseKind::kCopy, elements, bytes, bytes, false}, "attention-layout", {buffer},
                 {buffer});
}

/// Flash attention on a packed batch (flash_attn.bert_padding): q, k and v are gathered by the indices of their tokens,
/// the context is scattered into zeros; in the backward pass the reverse.
void write_row_gather(BlockWriter& writer, const Stage& stage, BufferId buffer, std::int64_t columns, bool backward) {
  if (!stage.implementation.unpads_attention) return;
  const std::int64_t elements = stage.shapes.tokens * columns;
  const std::int64_t bytes = elements * stage.shapes.activation_bytes;
  writer.compute(Elementwise{ElementwiseKind::kCopy, elements, bytes, bytes, backward}, "unpad", {buffer}, {buffer});
}

void write_row_scatter(BlockWriter& writer, const Stage& stage, BufferId buffer, std::int64_t columns, bool backward) {
  if (!stage.implementation.unpads_attention) return;
  const std::int64_t elements = stage.shapes.tokens * columns;
  const std::int64_t bytes = elements * stage.shapes.activation_bytes;
  writer.compute(Elementwise{ElementwiseKind::kCopy, elements, bytes, 2 * bytes, backward}, "pad", {buffer}, {buffer});
}

/// Bytes that a stack which keeps keys and values apart copies around the rotation, read or written, of a bytes an
/// element: forward the projection cut into heads (q + 2 kv), keys joined with values (2 kv) and put beside them (2
/// kv); backward their gradients joined (2 kv) and put into the projection's (q + 2 kv).
std::int64_t copied_bytes(const Stage& stage, bool backward) {
  if (!stage.implementation.copies_keys_and_values) return 0;
  const Shapes& s = stage.shapes;
  const std::int64_t pair = 2 * s.kv_heads * s.head_dim;
  return s.tokens * (s.qkv + (backward ? 1 : 2) * pair) * s.activation_bytes;
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

std::int64_t rows_of(const Stage& stage, const WeightProduct& product) {
  if (product.rows > 0) return product.rows;
  return product.own_rows ? stage.shapes.tokens_between : stage.shapes.tokens;
}

/// gradient += product, in one pass over both or with a copy of the product in the gradient's format between.
void write_accumulation(BlockWriter& writer, const Stage& stage, const Parameter& weight, const std::string& label,
                        BufferId product, std::int64_t elements) {
  const std::int64_t product_bytes = elements * stage.shapes.activation_bytes;
  const std::int64_t sum_bytes = storage_bytes(elements, stage.implementation.gradient);
  const bool casts = stage.implementation.casts_products && product_bytes < sum_bytes;
  const BufferId added = casts ? writer.temporary("wide-product", sum_bytes) : product;
  if (casts) {
    writer.compute(Elementwise{ElementwiseKind::kCast, elements, product_bytes, sum_bytes, true}, label + "-cast",
                   {product}, {added});
  }
  const std::int64_t added_bytes = casts ? sum_bytes : product_bytes;
  writer.compute(Elementwise{ElementwiseKind::kAdd, elements, added_bytes + sum_bytes, sum_bytes, true},
                 label + "-accumulate", {added, weight.gradient}, {weight.gradient});
  if (casts) writer.free(added);
}

/// The product's input, the rank's own rows, as products take it.
Moved gather_input(BlockWriter& writer, const Stage& stage, const WeightProduct& product) {
  if (hw_models::is_narrow(product.dtype)) {
    return gather_kept_input(writer, stage, product.label, product.x, product.in);
  }
  const bool stream = product.in == stage.shapes.hidden;
  return gather_rows(writer, stage, product.x, product.in, stream ? stage.column_gathers : std::nullopt);
}

/// The product once `x`, its input as products take it, is there.
void finish_weight_product(BlockWriter& writer, const Stage& stage, const Parameter& weight,
                           const WeightProduct& product, const Moved& x) {
  x.await(writer);
  if (product.gathers && hw_models::is_narrow(product.dtype)) {
    write_gathered_transpose(writer, stage, product.label, x.buffer, product.in);
  }
  write_weight_gradient(writer, stage, weight, product, x.buffer);
  free_gathered(writer, x.buffer, product.x);
}

}  // namespace

Moved gather_sequence(BlockWriter& writer, const Stage& stage, BufferId local, std::int64_t bytes,
                      hw_models::DType dtype, const char* name, std::optional<BufferId> into) {
  if (!stage.gathers_sequence()) return {local, std::nullopt};
  const BufferId gathered = into ? *into : writer.temporary(name, bytes);
  return {gathered, writer.collective(CollectiveKind::kAllGather, stage.groups.tensor, bytes, dtype, Lane::kTensor,
                                      "gather-sequence", {local}, {gathered})};
}

Moved gather_rows(BlockWriter& writer, const Stage& stage, BufferId local, std::int64_t columns,
                  std::optional<BufferId> into) {
  const std::int64_t bytes = stage.shapes.tokens * columns * stage.shapes.activation_bytes;
  return gather_sequence(writer, stage, local, bytes, stage.shapes.activation, "gathered", into);
}

Moved gather_stream(BlockWriter& writer, const Stage& stage, BufferId stream, std::optional<BufferId> into) {
  return gather_rows(writer, stage, stream, stage.shapes.hidden, into);
}

void free_gathered(BlockWriter& writer, BufferId gathered, BufferId stream) {
  const bool survives = writer.role().buffers[gathered.value].lifetime == Lifetime::kStatic;
  if (gathered != stream && !survives) writer.free(gathered);
}

Moved reduce_stream(BlockWriter& writer, const Stage& stage, BufferId partial, std::optional<BufferId> into) {
  return reduce_rows(writer, stage, partial, stage.shapes.hidden, into);
}

Moved reduce_rows(BlockWriter& writer, const Stage& stage, BufferId partial, std::int64_t columns,
                  std::optional<BufferId> into) {
  if (!stage.tensor_parallel()) return {partial, std::nullopt};
  const Shapes& s = stage.shapes;
  const std::int64_t row = columns * s.activation_bytes, bytes = s.tokens * row;
  if (!stage.plan.sequence_parallel) {
    return {partial, writer.collective(CollectiveKind::kAllReduce, stage.groups.tensor, bytes, stage.shapes.activation,
                                       Lane::kTensor, "reduce-tensor", {partial}, {partial})};
  }
  const BufferId scattered = into ? *into : writer.temporary("scattered", s.tokens_between * row);
  const OperationId operation =
      writer.collective(CollectiveKind::kReduceScatter, stage.groups.tensor, bytes, stage.shapes.activation,
                        Lane::kTensor, "scatter-sequence", {partial}, {scattered});
  writer.free(partial);
  return {scattered, operation};
}

void write_input_gradient(BlockWriter& writer, const Stage& stage, const Parameter& weight, const std::string& label,
                          BufferId dy, std::int64_t in, std::int64_t out, BufferId dx, hw_models::DType dtype,
                          bool own_rows) {
  const Shapes& s = stage.shapes;
  const std::int64_t rows = own_rows ? s.tokens_between : s.tokens;
  const hw_models::Matmul kernel{.m = rows, .n = in, .k = out, .dtype = dtype, .output = s.activation};
  const std::optional<BufferId> narrow = write_narrow_weight(writer, stage, label, weight);
  writer.compute(kernel, label + "-dgrad", {dy, narrow.value_or(weight.weight)}, {dx});
  if (narrow) writer.free(*narrow);
}

bool keeps_products(const Stage& stage) {
  const double gradient_bytes = hw_models::info(stage.implementation.gradient).bytes;
  return stage.implementation.half_gradients_until_end &&
         gradient_bytes > static_cast<double>(stage.shapes.activation_bytes);
}

void write_grouped(BlockWriter& writer, const Stage& stage, hw_models::Matmul kernel, const std::string& label,
                   const BlockWriter::Buffers& reads, BufferId output) {
  const std::int64_t kernels = stage.implementation.grouped_experts ? 1 : kernel.batch;
  kernel.batch /= kernels;
  for (std::int64_t i = 0; i < kernels; ++i) writer.compute(kernel, label, reads, {output});
}

void write_weight_gradient(BlockWriter& writer, const Stage& stage, const Parameter& weight,
                           const WeightProduct& product, BufferId x) {
  const bool passes = stage.plan.shards_gradients();  // the product is the gradient: there is nothing to add it to
  const bool fused = stage.implementation.fused_gradient_accumulation || passes;
  const hw_models::DType gradient = passes ? stage.parameters.passing_gradient() : stage.implementation.gradient;
  const std::int64_t rows = rows_of(stage, product);
  const hw_models::Matmul kernel{.m = product.out,
                                 .n = product.in,
                                 .k = (rows + product.groups - 1) / product.groups,
                                 .batch = product.groups,
                                 .dtype = product.dtype,
                                 .output = fused ? gradient : stage.shapes.activation,
                                 .accumulate = fused && (!passes || product.adds),
                                 .transpose_a = true};
  const Phase phase = writer.phase();
  writer.at(writer.layer(), Phase::kWeightGradient);
  const std::int64_t elements = product.groups * product.out * product.in;
  BufferId into = weight.gradient;
  if (!fused) into = writer.temporary("product", elements * stage.shapes.activation_bytes);
  write_grouped(writer, stage, kernel, product.label + "-wgrad", {product.dy, x}, into);
  if (!fused) {  // the product has a buffer of its own and is added in a second pass
    write_accumulation(writer, stage, weight, product.label, into, elements);
    keeps_products(stage) ? writer.free_at_end(into) : writer.free(into);
  }
  writer.at(writer.layer(), phase);
}

void write_bias_gradient(BlockWriter& writer, const Stage& stage, const Parameter& bias, const std::string& label,
                         BufferId dy, std::int64_t columns) {
  const Shapes& s = stage.shapes;
  const std::int64_t rows = bias.tensor_replicated ? s.tokens_between : s.tokens;
  const Phase phase = writer.phase();
  writer.at(writer.layer(), Phase::kWeightGradient);
  writer.compute(Elementwise{ElementwiseKind::kAdd, rows * columns, s.tokens * columns * s.activation_bytes, 0, true},
                 label + "-bias-gradient", {dy}, {bias.gradient});
  writer.at(writer.layer(), phase);
}

BufferId write_column_backward(BlockWriter& writer, const Stage& stage, const Parameter& weight,
                               const WeightProduct& product, GradientBuckets& buckets) {
  const Shapes& s = stage.shapes;
  const bool later = buckets.defers();
  const bool overlap = stage.implementation.overlap_weight_gradient && !later;
  const Moved input = later ? Moved{product.x, std::nullopt} : gather_input(writer, stage, product);
  const BufferId partial = writer.temporary("gradient-normed", s.tokens * product.in * s.activation_bytes);
  write_input_gradient(writer, stage, weight, product.label, product.dy, product.in, product.out, partial,
                       product.dtype);
  const Moved reduced = reduce_rows(writer, stage, partial, product.in);
  if (!overlap) reduced.await(writer);
  if (later) {
    buckets.defer(weight, product);
  } else {
    finish_weight_product(writer, stage, weight, product, input);
    writer.free(product.dy);
    writer.free(product.x);
  }
  buckets.ready(weight);
  if (overlap) reduced.await(writer);
  return reduced.buffer;
}

BufferId gradient_operand(BlockWriter& writer, const GradientBuckets& buckets, const std::string& name,
                          std::int64_t bytes) {
  if (!buckets.defers()) return writer.temporary(name, bytes);
  const std::string prefix = writer.layer() < 0 ? "" : "layers." + std::to_string(writer.layer()) + ".";
  return add_buffer(writer.role(), prefix + name, bytes, Holds::kActivations, Lifetime::kMicrobatch);
}

BufferId stream_gradient(BlockWriter& writer, const Stage& stage, const GradientBuckets& buckets) {
  const std::int64_t bytes = stage.shapes.stream_bytes();
  const bool multiplied = !stage.implementation.dropout && stage.model.norms_per_layer < 4 && !stage.gathers_sequence();
  return multiplied ? gradient_operand(writer, buckets, "gradient-stream", bytes)
                    : writer.temporary("gradient-stream", bytes);
}

void write_stream_sum(BlockWriter& writer, const Stage& stage, const char* label, BufferId sum, BufferId more) {
  const std::int64_t bytes = stage.shapes.stream_bytes();
  writer.compute(
      Elementwise{ElementwiseKind::kAdd, stage.shapes.tokens_between * stage.shapes.hidden, 2 * bytes, bytes, true},
      label, {sum, more}, {sum});
}

void write_weight_product(BlockWriter& writer, const Stage& stage, const Parameter& weight,
                          const WeightProduct& product) {
  Moved x{product.x, std::nullopt};
  if (product.gathers) {
    x = gather_input(writer, stage, product);
  } else if (hw_models::is_narrow(product.dtype)) {
    x.buffer = write_kept_input(writer, stage, product.label, product.x, rows_of(stage, product) * product.in);
  }
  finish_weight_product(writer, stage, weight, product, x);
}

hw_models::Attention attention_kernel(const Stage& stage, bool backward, std::int64_t window) {
  const Shapes& s = stage.shapes;
  hw_models::Attention kernel;
  kernel.batch = s.batch;
  kernel.heads = s.heads;
  kernel.kv_heads = s.kv_heads;
  kernel.query_length = kernel.key_length = s.sequence;
  kernel.head_dim = s.head_dim;
  kernel.value_dim = s.value_dim;
  kernel.backward = backward;
  kernel.dropout = stage.implementation.dropout;
  kernel.kernel = stage.implementation.attention;
  kernel.dtype = s.activation;
  kernel.window = window;
  return kernel;
}

void write_attention_forward(BlockWriter& writer, const Stage& stage, int layer) {
  if (stage.plan.context > 1) return write_context_attention(writer, stage, layer);
  const LayerBuffers& b = stage.layers.at(layer);
  write_row_gather(writer, stage, b.qkv, stage.shapes.qkv, false);
  writer.compute(attention_kernel(stage, false, stage.window(layer)), "attention", {b.qkv}, {b.context, b.softmax});
  write_row_scatter(writer, stage, b.context, stage.shapes.attended, false);
  write_layout_copy(writer, stage, b.context, stage.shapes.attended);
}

void write_attention_recompute(BlockWriter& writer, const Stage& stage, int layer) {
  const LayerBuffers& b = stage.layers.at(layer);
  writer.at(layer, Phase::kRecompute);
  if (stage.plan.context > 1) {
    write_context_attention(writer, stage, layer);
  } else {
    writer.compute(attention_kernel(stage, false, stage.window(layer)), "attention", {b.qkv}, {b.softmax});
  }
  writer.at(layer, Phase::kBackward);
}

void write_attention_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId output_gradient,
                              BufferId qkv_gradient) {
  if (stage.plan.context > 1) {
    return write_context_attention_backward(writer, stage, layer, output_gradient, qkv_gradient);
  }
  const LayerBuffers& b = stage.layers.at(layer);
  write_layout_copy(writer, stage, output_gradient, stage.shapes.attended);
  write_row_gather(writer, stage, output_gradient, stage.shapes.attended, true);
  writer.compute(attention_kernel(stage, true, stage.window(layer)), "attention-backward",
                 {b.qkv, b.context, b.softmax, output_gradient}, {qkv_gradient});
  write_row_scatter(writer, stage, qkv_gradient, stage.shapes.qkv, true);
  if (stage.implementation.unpads_attention) {  // the three gradients, joined
    const std::int64_t elements = stage.shapes.tokens * stage.shapes.qkv;
    const std::int64_t bytes = elements * stage.shapes.activation_bytes;
    writer.compute(Elementwise{ElementwiseKind::kCopy, elements, bytes, bytes, true}, "join-gradients", {qkv_gradient},
                   {qkv_gradient});
  }
  write_layout_copy(writer, stage, qkv_gradient, stage.shapes.qkv);
}

/// The chain of eager PyTorch widens, multiplies as complex numbers and narrows: a + 4, 4 + 4, 4 + a bytes an element
/// of a bytes; one pass reads and writes a each.
hw_models::Elementwise rotary_kernel(const Stage& stage, bool backward) {
  const Shapes& shapes = stage.shapes;
  const std::int64_t columns = shapes.query + shapes.kv_heads * shapes.head_dim;
  const std::int64_t between = stage.implementation.composed_passes ? 2 * kFp32Bytes : 0;
  const std::int64_t bytes =
      shapes.tokens * columns * (shapes.activation_bytes + between) + copied_bytes(stage, backward);
  Elementwise kernel{ElementwiseKind::kRotary, shapes.tokens * columns, bytes, bytes, backward};
  kernel.columns = columns;
  kernel.head_dim = shapes.head_dim;
  return kernel;
}

MlpSize mlp_size(const Shapes& shapes) { return {shapes.tokens, shapes.ffn, shapes.up}; }

/// Of a bytes an element, beyond the one pass of a norm (2 a forward, 5 a backward):
///   forward   widen a + 4; square 8; mean 4; scale 8; narrow 4 + a; gain 2 a                       4 a + 28
///   backward  gain 2 a, and its own gradient 4 a; widen a + 4; of the scale 8 and 12 + 4; of the square 24; sum 12;
///             narrow 4 + a                                                                          8 a + 68
void write_composed_norm(BlockWriter& writer, const Stage& stage, BufferId buffer, std::int64_t elements,
                         bool backward) {
  if (!stage.implementation.composed_passes || stage.model.norm != hw_models::NormKind::kRmsNorm) return;
  const std::int64_t a = stage.shapes.activation_bytes;
  const std::int64_t bytes = elements * (backward ? 3 * a + 17 * kFp32Bytes : 2 * a + 7 * kFp32Bytes);
  writer.compute(Elementwise{ElementwiseKind::kCast, elements, bytes / 2, bytes - bytes / 2, backward}, "norm-passes",
                 {buffer}, {buffer});
}

void write_activation_forward(BlockWriter& writer, const Stage& stage, const MlpSize& size, BufferId up,
                              std::optional<BufferId> bias, BufferId activated) {
  const Shapes& s = stage.shapes;
  const std::int64_t elements = size.rows * size.ffn;
  const std::int64_t in = size.rows * size.up * s.activation_bytes;
  const std::int64_t out = elements * s.activation_bytes;
  const bool fused = stage.implementation.fused_elementwise;
  if (!fused && (bias || !stage.implementation.fused_gate)) {  // bias add, or the gate's product, in a pass of its own
    Elementwise add{ElementwiseKind::kAdd, size.rows * size.up, in, in, false};
    if (bias) add.columns = size.up;
    writer.compute(add, "mlp-bias", bias ? BlockWriter::Buffers{up, *bias} : BlockWriter::Buffers{up}, {up});
  }
  Elementwise kernel{activation_kind(stage.model), elements, in, out, false};
  kernel.columns = size.ffn;
  writer.compute(kernel, "activation", bias && fused ? BlockWriter::Buffers{up, *bias} : BlockWriter::Buffers{up},
                 {activated});
}

void write_activation_backward(BlockWriter& writer, const Stage& stage, const MlpSize& size, BufferId up,
                               BufferId activated_gradient, std::optional<BufferId> bias, BufferId up_gradient) {
  const Shapes& s = stage.shapes;
  const std::int64_t elements = size.rows * size.ffn;
  const std::int64_t wide = size.rows * size.up * s.activation_bytes;
  if (stage.separate_gate()) {  // the gate's product, and gate and up joined
    writer.compute(Elementwise{ElementwiseKind::kCopy, size.rows * size.up, 2 * wide + elements * s.activation_bytes,
                               2 * wide, true},
                   "gate-product-backward", {up, activated_gradient}, {activated_gradient});
  }
  Elementwise kernel{activation_kind(stage.model), size.rows * size.up, wide + elements * s.activation_bytes, wide,
                     true};
  kernel.columns = size.ffn;
  BlockWriter::Buffers reads{up, activated_gradient};
  if (bias) reads.push_back(*bias);
  writer.compute(kernel, "activation-backward", std::move(reads), {up_gradient});
}

}  // namespace strategies
