#include "strategies/transformer/prediction.h"

#include "strategies/transformer/ends.h"
#include "strategies/transformer/layer.h"
#include "strategies/transformer/layer_parts.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

class Prediction {
 public:
  Prediction(BlockWriter& writer, const Stage& stage, int index)
      : w_(writer), stage_(stage), index_(static_cast<std::size_t>(index)), layer_(b_.head.layer) {}

  void forward(bool keep) {
    w_.at(layer_, Phase::kForward);
    write_token_rows(w_, stage_, table(), b_.embedded);
    join();
    project(stage_.layers.at(layer_).input);
    if (!keep) w_.free(b_.joined);
    write_layer_forward(w_, stage_, layer_, b_.head.input, keep);
    write_head_forward(w_, stage_, b_.head);
  }

  BufferId backward(std::optional<BufferId> later, GradientBuckets& buckets) {
    BufferId gradient = write_head_backward(w_, stage_, b_.head, buckets);
    if (later) {
      write_stream_sum(w_, stage_, "prediction-gradient-sum", gradient, *later);
      w_.free(*later);
    }
    w_.at(layer_, Phase::kBackward);
    const bool recomputed = stage_.recompute_of(layer_) == Recompute::kFull;
    if (recomputed) write_layer_recompute(w_, stage_, layer_);
    std::optional<BufferId> into;
    if (!stage_.tensor_parallel()) into = gradient_operand(w_, buckets, "gradient-projected", s_.stream_bytes());
    gradient = write_layer_backward(w_, stage_, layer_, gradient, buckets, into);
    if (recomputed) {
      w_.at(layer_, Phase::kRecompute);
      join();
      w_.at(layer_, Phase::kBackward);
    }
    const WeightProduct product{.label = "prediction-projection",
                                .dy = own_columns(gradient, buckets),
                                .x = b_.joined,
                                .in = 2 * s_.hidden,
                                .out = columns(),
                                .dtype = s_.activation,
                                .gathers = stage_.gathers_sequence()};
    return norms_and_tokens(write_column_backward(w_, stage_, parameter("projection.weight"), product, buckets),
                            buckets);
  }

 private:
  std::int64_t columns() const { return s_.hidden / stage_.plan.tensor; }
  BufferId previous() const { return index_ == 0 ? stage_.head.input : stage_.predictions[index_ - 1].head.input; }
  const Parameter& parameter(const char* part) const {
    return stage_.parameters.find(layer_parameter(layer_, "prediction.") + part);
  }
  /// The embedding, or its copy here.
  const Parameter& table() const {
    for (const char* name : {"embedding.weight", "prediction.embedding.weight"}) {
      if (stage_.parameters.contains(name)) return stage_.parameters.find(name);
    }
    return stage_.parameters.find("head.weight");  // tied
  }
  hw_models::Norm norm_kernel(bool backward) const {
    return {s_.tokens_between, s_.hidden, stage_.model.norm, backward, s_.activation};
  }
  void copy(BlockWriter::Buffers from, BufferId to, std::int64_t elements, const char* label) {
    const std::int64_t bytes = elements * s_.activation_bytes;
    w_.compute(Elementwise{ElementwiseKind::kCopy, elements, bytes, bytes, w_.phase() == Phase::kBackward}, label,
               std::move(from), {to});
  }

  void join() {
    const BufferId hidden = w_.temporary("normed-hidden", s_.stream_bytes());
    const BufferId embedding = w_.temporary("normed-embedding", s_.stream_bytes());
    w_.compute(norm_kernel(false), "prediction-hidden-norm", {previous(), parameter("hidden_norm").weight}, {hidden});
    w_.compute(norm_kernel(false), "prediction-embedding-norm", {b_.embedded, parameter("embedding_norm").weight},
               {embedding});
    copy({hidden, embedding}, b_.joined, 2 * s_.tokens_between * s_.hidden, "prediction-join");
    w_.free(hidden);
    w_.free(embedding);
  }

  void project(BufferId output) {
    const Moved gathered = gather_rows(w_, stage_, b_.joined, 2 * s_.hidden);
    gathered.await(w_);
    const bool split = stage_.tensor_parallel(), scatters = stage_.gathers_sequence();
    const std::int64_t bytes = s_.tokens * columns() * s_.activation_bytes;
    const BufferId part = split ? w_.temporary("projected-columns", bytes) : output;
    const hw_models::Matmul kernel{.m = s_.tokens,
                                   .n = columns(),
                                   .k = 2 * s_.hidden,
                                   .dtype = s_.activation,
                                   .output = s_.activation,
                                   .transpose_b = true};
    w_.compute(kernel, "prediction-projection", {gathered.buffer, parameter("projection.weight").weight}, {part});
    free_gathered(w_, gathered.buffer, b_.joined);
    if (!split) return;
    const BufferId whole = scatters ? w_.temporary("projected-whole", s_.full_bytes()) : output;
    w_.wait_for(w_.collective(CollectiveKind::kAllGather, stage_.groups.tensor, s_.full_bytes(), s_.activation,
                              Lane::kTensor, "gather-columns", {part}, {whole}));
    w_.free(part);
    if (!scatters) return;
    copy({whole}, output, s_.tokens_between * s_.hidden, "prediction-own-rows");
    w_.free(whole);
  }

  /// Of the gradient of the projection's output; `gradient` itself without tensor ranks.
  BufferId own_columns(BufferId gradient, const GradientBuckets& buckets) {
    if (!stage_.tensor_parallel()) return gradient;
    const Moved whole = gather_stream(w_, stage_, gradient);
    whole.await(w_);
    const std::int64_t elements = s_.tokens * columns();
    const BufferId own = gradient_operand(w_, buckets, "gradient-projected", elements * s_.activation_bytes);
    copy({whole.buffer}, own, elements, "prediction-own-columns");
    free_gathered(w_, whole.buffer, gradient);
    w_.free(gradient);
    return own;
  }

  BufferId norms_and_tokens(BufferId joined_gradient, GradientBuckets& buckets) {
    const BufferId hidden = norm_backward("hidden_norm", "prediction-hidden-norm-backward", previous(), joined_gradient,
                                          "gradient-previous", buckets);
    const BufferId embedded = norm_backward("embedding_norm", "prediction-embedding-norm-backward", b_.embedded,
                                            joined_gradient, "gradient-embedded", buckets);
    w_.free(joined_gradient);
    w_.free(b_.embedded);
    const Parameter& tokens = table();
    const bool has_head = tokens.name == "head.weight" || !stage_.parameters.contains("head.weight");
    if (!has_head && index_ + 1 == stage_.predictions.size()) buckets.clear({&tokens});
    write_token_rows_backward(w_, stage_, tokens, nullptr, embedded);
    if (index_ == 0 && tokens.name == "prediction.embedding.weight") buckets.ready(tokens);
    return hidden;
  }

  BufferId norm_backward(const char* part, const char* label, BufferId input, BufferId gradient, const char* name,
                         GradientBuckets& buckets) {
    const BufferId result = w_.temporary(name, s_.stream_bytes());
    const Parameter& gain = parameter(part);
    w_.compute(norm_kernel(true), label, {input, gradient, gain.weight}, {result, gain.gradient});
    buckets.ready(gain);
    return result;
  }

  BlockWriter& w_;
  const Stage& stage_;
  std::size_t index_;
  const Shapes& s_ = stage_.shapes;
  const PredictionBuffers& b_ = stage_.predictions[index_];
  int layer_;
};

}  // namespace

void write_prediction_forward(BlockWriter& writer, const Stage& stage, int index, bool keep) {
  Prediction(writer, stage, index).forward(keep);
}

BufferId write_prediction_backward(BlockWriter& writer, const Stage& stage, int index, std::optional<BufferId> later,
                                   GradientBuckets& buckets) {
  return Prediction(writer, stage, index).backward(later, buckets);
}

}  // namespace strategies
