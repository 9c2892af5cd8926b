#include "strategies/transformer/ends.h"

#include <utility>
#include <vector>

#include "strategies/transformer/layer_parts.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

hw_models::Embedding embedding_kernel(const Stage& stage, bool backward) {
  const Shapes& s = stage.shapes;
  hw_models::Embedding kernel{s.tokens, s.hidden, s.vocabulary, backward, s.activation};
  if (backward && stage.model.position == PositionKind::kLearned) kernel.position_rows = s.tokens_between;
  return kernel;
}

hw_models::Norm stream_norm(const Stage& stage, bool backward) {
  const Shapes& s = stage.shapes;
  return {s.tokens_between, s.hidden, stage.model.norm, backward, s.activation};
}

/// The LM head's weights: its own table, or the tied embedding of this very stage.
const Parameter& head_weight(const Stage& stage) {
  return stage.parameters.find(stage.parameters.contains("head.weight") ? "head.weight" : "embedding.weight");
}

hw_models::CrossEntropy cross_entropy(const Stage& stage, bool backward) {
  const Shapes& s = stage.shapes;
  return {.tokens = s.tokens,
          .vocabulary = s.vocabulary,
          .backward = backward,
          .fused = stage.implementation.fused_cross_entropy,
          .logits = stage.implementation.logits,
          .padding = s.padded_vocabulary - stage.model.vocabulary};
}

/// Position table, norm and dropout between the gathered rows and the first layer.
void write_embedding_finish(BlockWriter& writer, const Stage& stage, BufferId embedded, BufferId output) {
  const Shapes& s = stage.shapes;
  if (stage.model.embedding_norm) {
    writer.compute(stream_norm(stage, false), "embedding-norm",
                   {embedded, stage.parameters.find("embedding.norm.weight").weight}, {output});
  } else {
    const std::int64_t bytes = s.stream_bytes();
    Elementwise add{ElementwiseKind::kAdd, s.tokens_between * s.hidden, 2 * bytes, bytes, false};
    add.columns = s.hidden;
    writer.compute(add, "position-add", {embedded, stage.parameters.find("embedding.position").weight}, {output});
  }
  writer.free(embedded);
}

}  // namespace

BufferId write_token_rows(BlockWriter& writer, const Stage& stage, const Parameter& table,
                          std::optional<BufferId> output) {
  const bool apart = !output || stage.gathers_sequence();
  const BufferId rows = apart ? writer.temporary("embedded", stage.shapes.full_bytes()) : *output;
  writer.compute(embedding_kernel(stage, false), "embedding", {table.weight}, {rows});
  const Moved moved = reduce_stream(writer, stage, rows, output);
  moved.await(writer);
  return moved.buffer;
}

void write_embedding_forward(BlockWriter& writer, const Stage& stage, BufferId output) {
  writer.at(-1, Phase::kForward);
  const Parameter& table = stage.parameters.find("embedding.weight");
  const bool finish = stage.model.position == PositionKind::kLearned || stage.model.embedding_norm;
  const BufferId embedded = write_token_rows(writer, stage, table, finish ? std::nullopt : std::optional(output));
  if (finish) write_embedding_finish(writer, stage, embedded, output);
}

void write_token_rows_backward(BlockWriter& writer, const Stage& stage, const Parameter& table,
                               const Parameter* position, BufferId gradient) {
  const Moved gathered = gather_stream(writer, stage, gradient);
  gathered.await(writer);
  BlockWriter::Buffers written{table.gradient};
  if (position != nullptr) written.push_back(position->gradient);
  if (keeps_products(stage) && !stage.plan.shards_gradients()) {
    written.push_back(writer.temporary("product", table.elements * stage.shapes.activation_bytes));
    writer.free_at_end(written.back());
  }
  hw_models::Embedding kernel = embedding_kernel(stage, true);
  if (position == nullptr) kernel.position_rows = 0;
  writer.compute(kernel, "embedding-backward", {gathered.buffer}, std::move(written));
  writer.free(gradient);
  free_gathered(writer, gathered.buffer, gradient);
}

void write_embedding_backward(BlockWriter& writer, const Stage& stage, BufferId gradient, GradientBuckets& buckets) {
  writer.at(-1, Phase::kBackward);
  if (stage.model.embedding_norm) {
    const Parameter& norm = stage.parameters.find("embedding.norm.weight");
    writer.compute(stream_norm(stage, true), "embedding-norm-backward", {gradient, norm.weight},
                   {gradient, norm.gradient});
    buckets.ready(norm);
  }
  const Parameter& table = stage.parameters.find("embedding.weight");
  const bool learned = stage.parameters.contains("embedding.position");
  const Parameter* position = learned ? &stage.parameters.find("embedding.position") : nullptr;
  std::vector<const Parameter*> added_to;
  // By the LM head, if that shares the table here, or by an extra prediction layer.
  const bool shared = stage.parameters.contains("final_norm") && !stage.parameters.contains("head.weight");
  if (!shared && stage.predictions.empty()) added_to.push_back(&table);
  if (position != nullptr) added_to.push_back(position);
  buckets.clear(added_to);
  write_token_rows_backward(writer, stage, table, position, gradient);
  if (position != nullptr) buckets.ready(*position);
  buckets.ready(table);
}

void write_head_forward(BlockWriter& writer, const Stage& stage, const Head& head) {
  const Shapes& s = stage.shapes;
  writer.at(head.layer, Phase::kForward);
  writer.compute(stream_norm(stage, false), "final-norm", {head.input, stage.parameters.find(head.norm).weight},
                 {head.normed});
  write_composed_norm(writer, stage, head.normed, s.tokens_between * s.hidden, false);
  const Moved gathered = gather_stream(writer, stage, head.normed, stage.column_gathers);
  gathered.await(writer);
  const hw_models::Matmul kernel{.m = s.tokens,
                                 .n = s.vocabulary,
                                 .k = s.hidden,
                                 .dtype = s.activation,
                                 .output = s.activation,
                                 .transpose_b = true};
  const BufferId logits = writer.temporary("logits", s.tokens * s.vocabulary * s.activation_bytes);
  BlockWriter::Buffers reads{gathered.buffer, head_weight(stage).weight};
  if (head.layer < 0 && stage.parameters.contains("head.bias")) {
    reads.push_back(stage.parameters.find("head.bias").weight);
  }
  writer.compute(kernel, "lm-head", std::move(reads), {logits});
  free_gathered(writer, gathered.buffer, head.normed);
  const bool fused = stage.implementation.fused_cross_entropy;
  if (fused) {
    writer.compute(cross_entropy(stage, false), "cross-entropy", {logits}, {head.probabilities});
  } else {
    const std::int64_t elements = s.tokens * s.vocabulary;
    const auto wide = static_cast<std::int64_t>(hw_models::info(stage.implementation.logits).bytes);
    const BufferId widened = writer.temporary("logits-wide", elements * wide);
    writer.compute(Elementwise{ElementwiseKind::kCast, elements, elements * s.activation_bytes, elements * wide, false},
                   "logits-cast", {logits}, {widened});
    writer.compute(cross_entropy(stage, false), "cross-entropy", {widened}, {head.probabilities});
    writer.free(widened);
  }
  writer.free(logits);
  if (!stage.tensor_parallel()) return;
  const std::int64_t row_bytes = s.tokens * 4;  // one fp32 value per token
  for (const char* label : {"loss-maximum", "loss-target", "loss-sum"}) {
    writer.wait_for(writer.collective(CollectiveKind::kAllReduce, stage.groups.tensor, row_bytes,
                                      hw_models::DType::kFp32, Lane::kTensor, label, {head.probabilities},
                                      {head.probabilities}));
  }
}

BufferId write_head_backward(BlockWriter& writer, const Stage& stage, const Head& head, GradientBuckets& buckets) {
  const Shapes& s = stage.shapes;
  writer.at(head.layer, Phase::kBackward);
  const BufferId logits =
      gradient_operand(writer, buckets, "gradient-logits", s.tokens * s.vocabulary * s.activation_bytes);
  writer.compute(cross_entropy(stage, true), "cross-entropy-backward", {head.probabilities}, {logits});
  writer.free(head.probabilities);
  const Parameter& weight = head_weight(stage);
  // A table tied on one stage is complete only after the embedding's backward, which reports it; one that extra
  // prediction layers share, after the model's own head.
  const bool own = head.layer < 0, last_use = own && weight.name != "embedding.weight";
  GradientBuckets none = buckets.unreported();
  const bool has_bias = own && stage.parameters.contains("head.bias");
  if (has_bias) {
    write_bias_gradient(writer, stage, stage.parameters.find("head.bias"), "lm-head", logits, s.vocabulary);
  }
  const bool begun = !stage.predictions.empty() && head.layer != stage.predictions.back().head.layer;
  const WeightProduct product{.label = "lm-head",
                              .dy = logits,
                              .x = head.normed,
                              .in = s.hidden,
                              .out = s.vocabulary,
                              .dtype = s.activation,
                              .gathers = stage.gathers_sequence(),
                              .adds = begun};
  const BufferId normed = write_column_backward(writer, stage, weight, product, last_use ? buckets : none);
  if (has_bias) buckets.ready(stage.parameters.find("head.bias"));
  const BufferId gradient = stream_gradient(writer, stage, buckets);
  const Parameter& norm = stage.parameters.find(head.norm);
  writer.compute(stream_norm(stage, true), "final-norm-backward", {head.input, normed, norm.weight},
                 {gradient, norm.gradient});
  write_composed_norm(writer, stage, gradient, s.tokens_between * s.hidden, true);
  writer.free(normed);
  writer.free(head.input);
  buckets.ready(norm);
  return gradient;
}

}  // namespace strategies
