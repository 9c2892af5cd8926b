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

class ExpertsForward {
 public:
  ExpertsForward(BlockWriter& writer, const Stage& stage, int layer, bool keep)
      : w_(writer),
        stage_(stage),
        s_(stage.shapes),
        x_(stage.shapes.expert),
        normed_(stage.layers.at(layer).mlp_normed),
        b_(*stage.layers.at(layer).experts),
        layer_(layer),
        keep_(keep) {}

  void run(BufferId output) {
    const BufferId wide = keeps_narrow_ ? rows("wide-expert-input", s_.hidden) : b_.input;
    const BufferId routed =
        moves_rows(stage_) ? w_.temporary("routed", x_.routed * s_.hidden * s_.activation_bytes) : wide;
    route(routed);
    if (moves_rows(stage_)) write_to_experts(w_, stage_, "dispatch", routed, wide);
    const BufferId returned = write_from_experts(w_, stage_, "combine", products(wide));
    write_weighting(w_, stage_, "combine-tokens", false, {returned, b_.routes}, output);
    w_.free(returned);
    done_with(b_.routes);
    if (x_.shared_ffn > 0) shared(output);
  }

 private:
  const Parameter& parameter(const char* part) const { return stage_.parameters.find(layer_parameter(layer_, part)); }
  std::optional<BufferId> weight(const char* part) const {
    const std::string name = layer_parameter(layer_, part);
    return stage_.parameters.contains(name) ? std::optional(stage_.parameters.find(name).weight) : std::nullopt;
  }
  void done_with(BufferId buffer) {
    if (!keep_) w_.free(buffer);
  }
  BufferId rows(const char* name, std::int64_t columns) {
    return w_.temporary(name, x_.rows * columns * s_.activation_bytes);
  }

  void route(BufferId routed) {
    const BufferId scores = w_.temporary("router-scores", s_.tokens_between * x_.experts * s_.activation_bytes);
    BlockWriter::Buffers reads{normed_, parameter("router.weight").weight};
    if (const auto bias = weight("router.bias")) reads.push_back(*bias);
    w_.compute(Matmul{.m = s_.tokens_between,
                      .n = x_.experts,
                      .k = s_.hidden,
                      .dtype = s_.activation,
                      .output = s_.activation,
                      .transpose_b = true},
               "router", std::move(reads), {scores});
    const OperationId known =
        w_.compute(hw_models::Route{s_.tokens_between, s_.hidden, x_.experts, x_.per_token, false}, "route",
                   {scores, normed_}, {b_.routes, routed});
    w_.free(scores);
    if (x_.counted) w_.host(HostReason::kTokenCounts, {known});
  }

  /// rows -> f -> rows; `input` ends here unless it is kept.
  BufferId products(BufferId input) {
    product("experts.up.weight", "expert-up", input, b_.input, s_.hidden, x_.up, b_.up);
    const BufferId activated = keeps_narrow_ ? rows("wide-expert-activated", x_.ffn) : b_.activated;
    write_activation_forward(w_, stage_, expert_size(s_), b_.up, weight("experts.up.bias"), activated);
    done_with(b_.up);
    const BufferId output = rows("expert-output", s_.hidden);
    product("experts.down.weight", "expert-down", activated, b_.activated, x_.ffn, s_.hidden, output,
            weight("experts.down.bias"));
    return output;
  }

  /// `wide` is `kept` where wide operands are kept; `bias` if it is added here.
  void product(const char* part, const char* label, BufferId wide, BufferId kept, std::int64_t in, std::int64_t out,
               BufferId output, std::optional<BufferId> bias = {}) {
    BufferId operand = wide;
    if (narrow_) {
      operand =
          write_narrow_rows(w_, stage_, label, wide, keeps_narrow_ ? std::optional(kept) : std::nullopt, x_.rows * in);
      if (keeps_narrow_) w_.free(wide);
    }
    const Parameter& matrix = parameter(part);
    const std::optional<BufferId> narrow_matrix = write_narrow_weight(w_, stage_, label, matrix);
    BlockWriter::Buffers reads{operand, narrow_matrix.value_or(matrix.weight)};
    if (bias) reads.push_back(*bias);
    write_grouped(w_, stage_,
                  Matmul{.m = x_.rows_each(),
                         .n = out,
                         .k = in,
                         .batch = x_.local,
                         .dtype = s_.operands(layer_),
                         .output = s_.activation,
                         .transpose_b = true},
                  label, reads, output);
    if (narrow_matrix) w_.free(*narrow_matrix);
    if (operand != kept) w_.free(operand);
    done_with(kept);
  }

  void shared(BufferId output) {
    const Moved moved = narrow_ ? write_narrow_stream(w_, stage_, "shared-up", normed_, b_.shared_normed)
                                : gather_stream(w_, stage_, normed_, stage_.column_gathers);
    moved.await(w_);
    shared_product("shared.up.weight", "shared-up", moved.buffer, s_.hidden, x_.shared_up, *b_.shared_up);
    free_gathered(w_, moved.buffer, b_.shared_normed.value_or(normed_));
    if (b_.shared_normed) done_with(*b_.shared_normed);
    const BufferId activated =
        keeps_narrow_ ? w_.temporary("wide-shared-activated", s_.tokens * x_.shared_ffn * s_.activation_bytes)
                      : *b_.shared_activated;
    write_activation_forward(w_, stage_, shared_size(s_), *b_.shared_up, weight("shared.up.bias"), activated);
    done_with(*b_.shared_up);
    const BufferId projected = w_.temporary("projected", s_.full_bytes());
    const BufferId operand = narrow_
                                 ? write_narrow_input(w_, stage_, "shared-down", activated,
                                                      keeps_narrow_ ? b_.shared_activated : std::nullopt, x_.shared_ffn)
                                 : activated;
    shared_product("shared.down.weight", "shared-down", operand, x_.shared_ffn, s_.hidden, projected);
    if (keeps_narrow_) w_.free(activated);
    if (operand != *b_.shared_activated) w_.free(operand);
    done_with(*b_.shared_activated);
    add(projected, output);
  }

  void shared_product(const char* part, const char* label, BufferId input, std::int64_t in, std::int64_t out,
                      BufferId output) {
    const Parameter& matrix = parameter(part);
    const std::optional<BufferId> narrow_matrix = write_narrow_weight(w_, stage_, label, matrix);
    w_.compute(Matmul{.m = s_.tokens,
                      .n = out,
                      .k = in,
                      .dtype = s_.operands(layer_),
                      .output = s_.activation,
                      .transpose_b = true},
               label, {input, narrow_matrix.value_or(matrix.weight)}, {output});
    if (narrow_matrix) w_.free(*narrow_matrix);
  }

  /// Partial sums of the shared experts, scaled by their gate where they have one.
  void add(BufferId projected, BufferId output) {
    const Moved moved = reduce_stream(w_, stage_, projected);
    moved.await(w_);
    const std::int64_t bytes = s_.stream_bytes(), elements = s_.tokens_between * s_.hidden;
    BlockWriter::Buffers reads{output, moved.buffer};
    if (const auto bias = weight("shared.down.bias")) reads.push_back(*bias);
    const std::optional<BufferId> gate = weight("shared.gate.weight");
    if (gate) reads.insert(reads.end(), {normed_, *gate});
    w_.compute(Elementwise{ElementwiseKind::kAdd, elements, (gate ? 3 : 2) * bytes, bytes, false}, "shared-add",
               std::move(reads), {output});
    w_.free(moved.buffer);
  }

  BlockWriter& w_;
  const Stage& stage_;
  const Shapes& s_;
  const ExpertShapes& x_;
  BufferId normed_;
  const ExpertBuffers& b_;
  int layer_;
  bool keep_;
  bool narrow_ = s_.narrows(layer_);
  bool keeps_narrow_ = narrow_ && s_.narrow.keeps;
};

}  // namespace

ExpertBuffers add_expert_buffers(const Stage& stage, int layer, bool kept, bool operand_kept) {
  const Shapes& s = stage.shapes;
  const ExpertShapes& x = s.expert;
  const bool narrow = s.narrows(layer) && s.narrow.keeps;
  const auto add = [&](const char* part, std::int64_t bytes, bool lives) {
    return add_buffer(stage.role, layer_parameter(layer, part), bytes, Holds::kActivations,
                      lives ? Lifetime::kMicrobatch : Lifetime::kBlock);
  };
  const auto operand = [&](std::int64_t elements) {
    return narrow ? s.narrow.bytes(elements) : elements * s.activation_bytes;
  };
  // A gate in passes of its own keeps its activated half as well as the product.
  const std::int64_t halves = stage.separate_gate() ? s.activation_bytes : 0;
  ExpertBuffers b;
  // Scores in fp32; of every choice its expert and its place, four bytes each.
  b.routes = add("experts.routes", s.tokens_between * (4 * x.experts + 8 * x.per_token), kept);
  b.input = add("experts.input", operand(x.rows * s.hidden), operand_kept);
  b.up = add("experts.up", x.rows * x.up * s.activation_bytes, kept);
  b.activated = add("experts.activated", operand(x.rows * x.ffn) + x.rows * x.ffn * halves, operand_kept);
  if (x.shared_ffn == 0) return b;
  if (narrow) b.shared_normed = add("shared.normed", operand(s.tokens_between * s.hidden), operand_kept);
  b.shared_up = add("shared.up", s.tokens * x.shared_up * s.activation_bytes, kept);
  b.shared_activated =
      add("shared.activated", operand(s.tokens * x.shared_ffn) + s.tokens * x.shared_ffn * halves, operand_kept);
  return b;
}

void write_experts_forward(BlockWriter& writer, const Stage& stage, int layer, BufferId output, bool keep) {
  ExpertsForward(writer, stage, layer, keep).run(output);
}

}  // namespace strategies
