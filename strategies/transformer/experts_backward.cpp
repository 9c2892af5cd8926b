#include <optional>
#include <string>
#include <utility>

#include "strategies/transformer/expert_parts.h"
#include "strategies/transformer/experts.h"
#include "strategies/transformer/layer_parts.h"
#include "strategies/transformer/narrow_operands.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;
using hw_models::Matmul;

class ExpertsBackward {
 public:
  ExpertsBackward(BlockWriter& writer, const Stage& stage, int layer, GradientBuckets& buckets)
      : w_(writer),
        stage_(stage),
        s_(stage.shapes),
        x_(stage.shapes.expert),
        normed_(stage.layers.at(layer).mlp_normed),
        b_(*stage.layers.at(layer).experts),
        layer_(layer),
        buckets_(buckets) {}

  BufferId run(BufferId gradient) {
    const BufferId routed = write_from_experts(w_, stage_, "dispatch-backward", products(output_gradient(gradient)));
    const BufferId normed = route(routed);
    if (x_.shared_ffn > 0) {
      add(shared(gradient), normed);
      if (b_.shared_normed) w_.free(normed_);
    } else {
      w_.free(normed_);
    }
    return normed;
  }

 private:
  bool has(const char* part) const { return stage_.parameters.contains(layer_parameter(layer_, part)); }
  const Parameter& parameter(const char* part) const { return stage_.parameters.find(layer_parameter(layer_, part)); }
  BufferId rows(const char* name, std::int64_t columns) {
    return w_.temporary(name, x_.rows * columns * s_.activation_bytes);
  }
  /// An operand of products, or what it will be narrowed from.
  BufferId gradient_rows(const char* name, std::int64_t columns) {
    return narrow_ ? rows(name, columns)
                   : gradient_operand(w_, buckets_, name, x_.rows * columns * s_.activation_bytes);
  }

  /// Of what the experts leave, by expert.
  BufferId output_gradient(BufferId gradient) {
    const BufferId by_expert = gradient_rows("gradient-expert-output", s_.hidden);
    const BufferId routed =
        moves_rows(stage_) ? w_.temporary("routed", x_.routed * s_.hidden * s_.activation_bytes) : by_expert;
    write_weighting(w_, stage_, "combine-tokens-backward", true, {gradient, b_.routes}, routed);
    if (moves_rows(stage_)) write_to_experts(w_, stage_, "combine-backward", routed, by_expert);
    return by_expert;
  }

  /// Returns the gradient of the experts' input; `output` ends here.
  BufferId products(BufferId output) {
    const BufferId activated = rows("gradient-expert-activated", x_.ffn);
    product("experts.down", "expert-down", output, b_.activated, x_.ffn, s_.hidden, activated);
    const BufferId up = gradient_rows("gradient-expert-up", x_.up);
    std::optional<BufferId> bias;
    if (stage_.implementation.fused_elementwise && has("experts.up.bias")) bias = parameter("experts.up.bias").weight;
    write_activation_backward(w_, stage_, expert_size(s_), b_.up, activated, bias, up);
    w_.free(activated);
    w_.free(b_.up);
    const BufferId input = rows("gradient-expert-input", s_.hidden);
    product("experts.up", "expert-up", up, b_.input, s_.hidden, x_.up, input);
    return input;
  }

  /// dx = dy W, dW += dy^T x. Ends dy and x, unless the weight gradient is left to a later block.
  void product(const std::string& part, const char* label, BufferId wide, BufferId x, std::int64_t in, std::int64_t out,
               BufferId dx) {
    bias_gradient(part + ".bias", label, wide, out);
    const Parameter& matrix = parameter((part + ".weight").c_str());
    const BufferId dy = narrow_ ? write_narrow_gradient(w_, stage_, buckets_, label, wide, x_.rows * out) : wide;
    const std::optional<BufferId> narrow_matrix = write_narrow_weight(w_, stage_, label, matrix);
    write_grouped(w_, stage_,
                  Matmul{.m = x_.rows_each(),
                         .n = in,
                         .k = out,
                         .batch = x_.local,
                         .dtype = s_.operands(layer_),
                         .output = s_.activation},
                  std::string(label) + "-dgrad", {dy, narrow_matrix.value_or(matrix.weight)}, dx);
    if (narrow_matrix) w_.free(*narrow_matrix);
    weight_gradient(matrix, {.label = label,
                             .dy = dy,
                             .x = x,
                             .in = in,
                             .out = out,
                             .dtype = s_.operands(layer_),
                             .rows = x_.rows,
                             .groups = x_.local});
    buckets_.release(dy);
    buckets_.release(x);
  }

  void weight_gradient(const Parameter& weight, const WeightProduct& product) {
    buckets_.defers() ? buckets_.defer(weight, product) : write_weight_product(w_, stage_, weight, product);
    buckets_.ready(weight);
  }

  void bias_gradient(const std::string& part, const char* label, BufferId dy, std::int64_t columns) {
    if (!has(part.c_str())) return;
    const Parameter& bias = parameter(part.c_str());
    const Phase phase = w_.phase();
    w_.at(layer_, Phase::kWeightGradient);
    const std::int64_t elements = x_.rows * columns;
    w_.compute(Elementwise{ElementwiseKind::kAdd, elements, elements * s_.activation_bytes, 0, true},
               std::string(label) + "-bias-gradient", {dy}, {bias.gradient});
    w_.at(layer_, phase);
    buckets_.ready(bias);
  }

  /// Of the normed tokens, through their copies and their scores. The router's own gradient is small: it is never left
  /// to a later block.
  BufferId route(BufferId routed) {
    const BufferId normed = w_.temporary("gradient-routed-normed", s_.stream_bytes());
    const BufferId scores = w_.temporary("gradient-scores", s_.tokens_between * x_.experts * s_.activation_bytes);
    w_.compute(hw_models::Route{s_.tokens_between, s_.hidden, x_.experts, x_.per_token, true}, "route-backward",
               {routed, b_.routes}, {normed, scores});
    w_.free(routed);
    w_.free(b_.routes);
    const Parameter& matrix = parameter("router.weight");
    w_.compute(Matmul{.m = s_.tokens_between,
                      .n = s_.hidden,
                      .k = x_.experts,
                      .dtype = s_.activation,
                      .output = s_.activation,
                      .accumulate = true},
               "router-dgrad", {scores, matrix.weight, normed}, {normed});
    write_weight_product(w_, stage_, matrix,
                         {.label = "router",
                          .dy = scores,
                          .x = normed_,
                          .in = s_.hidden,
                          .out = x_.experts,
                          .dtype = s_.activation,
                          .own_rows = true});
    buckets_.ready(matrix);
    if (has("router.bias")) {
      const std::int64_t elements = s_.tokens_between * x_.experts;
      w_.compute(Elementwise{ElementwiseKind::kAdd, elements, elements * s_.activation_bytes, 0, true},
                 "router-bias-gradient", {scores}, {parameter("router.bias").gradient});
      buckets_.ready(parameter("router.bias"));
    }
    w_.free(scores);
    return normed;
  }

  /// Returns the gradient of the normed tokens, whole on every tensor rank's rows.
  BufferId shared(BufferId gradient) {
    if (has("shared.gate.weight")) {
      const std::int64_t bytes = s_.stream_bytes();
      const Parameter& gate = parameter("shared.gate.weight");
      w_.compute(Elementwise{ElementwiseKind::kAdd, s_.tokens_between * s_.hidden, 2 * bytes, 0, true},
                 "shared-gate-backward", {gradient, normed_}, {gate.gradient});
      buckets_.ready(gate);
    }
    const BufferId branch = branch_of(gradient);
    const BufferId activated =
        w_.temporary("gradient-shared-activated", s_.tokens * x_.shared_ffn * s_.activation_bytes);
    const Parameter& down = parameter("shared.down.weight");
    write_input_gradient(w_, stage_, down, "shared-down", branch, x_.shared_ffn, s_.hidden, activated,
                         s_.operands(layer_));
    weight_gradient(down, {.label = "shared-down",
                           .dy = branch,
                           .x = *b_.shared_activated,
                           .in = x_.shared_ffn,
                           .out = s_.hidden,
                           .dtype = s_.operands(layer_)});
    shared_bias("shared.down.bias", "shared-down", branch, s_.hidden);
    if (!buckets_.defers()) free_gathered(w_, branch, gradient);
    buckets_.release(*b_.shared_activated);
    const std::int64_t up_bytes = s_.tokens * x_.shared_up * s_.activation_bytes;
    BufferId up = narrow_ ? w_.temporary("gradient-shared-up", up_bytes)
                          : gradient_operand(w_, buckets_, "gradient-shared-up", up_bytes);
    std::optional<BufferId> bias;
    if (stage_.implementation.fused_elementwise && has("shared.up.bias")) bias = parameter("shared.up.bias").weight;
    write_activation_backward(w_, stage_, shared_size(s_), *b_.shared_up, activated, bias, up);
    shared_bias("shared.up.bias", "shared-up", up, x_.shared_up);
    w_.free(activated);
    w_.free(*b_.shared_up);
    if (narrow_) up = write_narrow_gradient(w_, stage_, buckets_, "shared-up", up, s_.tokens * x_.shared_up);
    return write_column_backward(w_, stage_, parameter("shared.up.weight"),
                                 {.label = "shared-up",
                                  .dy = up,
                                  .x = b_.shared_normed.value_or(normed_),
                                  .in = s_.hidden,
                                  .out = x_.shared_up,
                                  .dtype = s_.operands(layer_),
                                  .gathers = stage_.gathers_sequence()},
                                 buckets_);
  }

  void shared_bias(const char* part, const char* label, BufferId dy, std::int64_t columns) {
    if (!has(part)) return;
    write_bias_gradient(w_, stage_, parameter(part), label, dy, columns);
    buckets_.ready(parameter(part));
  }

  /// The gradient of the shared experts' sum, whole on every rank.
  BufferId branch_of(BufferId gradient) {
    if (narrow_) return write_narrow_branch(w_, stage_, buckets_, "shared-down", gradient);
    std::optional<BufferId> into = stage_.row_gathers;
    if (stage_.gathers_sequence() && buckets_.defers()) {
      into = gradient_operand(w_, buckets_, "gradient-shared-gathered", s_.full_bytes());
    }
    const Moved gathered = gather_stream(w_, stage_, gradient, into);
    gathered.await(w_);
    return gathered.buffer;
  }

  void add(BufferId part, BufferId sum) {
    const std::int64_t bytes = s_.stream_bytes();
    w_.compute(Elementwise{ElementwiseKind::kAdd, s_.tokens_between * s_.hidden, 2 * bytes, bytes, true},
               "shared-gradient", {part, sum}, {sum});
    w_.free(part);
  }

  BlockWriter& w_;
  const Stage& stage_;
  const Shapes& s_;
  const ExpertShapes& x_;
  BufferId normed_;
  const ExpertBuffers& b_;
  int layer_;
  GradientBuckets& buckets_;
  bool narrow_ = s_.narrows(layer_);
};

}  // namespace

BufferId write_experts_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId gradient,
                                GradientBuckets& buckets) {
  return ExpertsBackward(writer, stage, layer, buckets).run(gradient);
}

}  // namespace strategies
