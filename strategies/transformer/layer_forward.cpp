#include <optional>
#include <string>
#include <utility>

#include "strategies/transformer/experts.h"
#include "strategies/transformer/latent_attention.h"
#include "strategies/transformer/layer.h"
#include "strategies/transformer/layer_parts.h"
#include "strategies/transformer/narrow_operands.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;
using hw_models::Matmul;

class LayerForward {
 public:
  LayerForward(BlockWriter& writer, const Stage& stage, int layer, bool keep)
      : w_(writer), stage_(stage), s_(stage.shapes), b_(stage.layers.at(layer)), layer_(layer), keep_(keep) {}

  void run(BufferId output) {
    attention();
    mlp(output);
  }

 private:
  const Parameter& parameter(const char* part) const { return stage_.parameters.find(layer_parameter(layer_, part)); }
  std::optional<BufferId> bias(const char* part) const {
    const std::string name = layer_parameter(layer_, part);
    return stage_.parameters.contains(name) ? std::optional(stage_.parameters.find(name).weight) : std::nullopt;
  }
  void done_with(BufferId buffer) {
    if (!keep_) w_.free(buffer);
  }

  void norm(BufferId input, const char* part, BufferId output) {
    w_.compute(hw_models::Norm{s_.tokens_between, s_.hidden, stage_.model.norm, false, s_.activation}, part,
               {input, parameter(part).weight}, {output});
    write_composed_norm(w_, stage_, output, s_.tokens_between * s_.hidden, false);
  }

  /// `label` names the operation; {input, weight, bias if it is added here} -> {output}
  void matmul(const char* part, const char* label, BufferId input, std::int64_t in, std::int64_t out, BufferId output,
              std::optional<BufferId> bias = {}) {
    const Parameter& weight = parameter(part);
    const std::optional<BufferId> narrow = write_narrow_weight(w_, stage_, label, weight);
    Matmul kernel{
        .m = s_.tokens, .n = out, .k = in, .dtype = s_.operands(layer_), .output = s_.activation, .transpose_b = true};
    BlockWriter::Buffers reads{input, narrow.value_or(weight.weight)};
    if (bias) reads.push_back(*bias);
    w_.compute(kernel, label, std::move(reads), {output});
    if (narrow) w_.free(*narrow);
  }

  /// norm -> (gather) -> first matrix
  void normed_matmul(BufferId input, const char* norm_part, BufferId normed, const char* part, const char* label,
                     std::int64_t out, BufferId output, std::optional<BufferId> bias = {}) {
    const auto write_norm = [&](BufferId to) { norm(input, norm_part, to); };
    if (!narrow_) write_norm(normed);
    const auto narrow_gathered = [&] {
      const BufferId local = write_narrow_norm(w_, stage_, label, s_.hidden, normed, write_norm, true);
      return gather_narrow_norm(w_, stage_, local, s_.hidden, normed);
    };
    const Moved gathered = narrow_ ? narrow_gathered() : gather_stream(w_, stage_, normed, stage_.column_gathers);
    gathered.await(w_);
    matmul(part, label, gathered.buffer, s_.hidden, out, output, bias);
    free_gathered(w_, gathered.buffer, normed);
    done_with(normed);
  }

  /// Second matrix: `input` narrowed into `kept` where the stack keeps narrow operands.
  void local_matmul(const char* part, const char* label, BufferId input, std::optional<BufferId> kept, std::int64_t in,
                    BufferId output) {
    const BufferId operand = narrow_ ? write_narrow_input(w_, stage_, label, input, kept, in) : input;
    matmul(part, label, operand, in, s_.hidden, output);
    if (operand != input && operand != kept) w_.free(operand);
  }

  void attention() {
    if (b_.latent) {
      write_latent_forward(w_, stage_, layer_, keep_);
    } else {
      normed_matmul(b_.input, "attention.norm", b_.attention_normed, "attention.qkv.weight", "qkv", s_.qkv, b_.qkv,
                    bias("attention.qkv.bias"));
      position_and_query_norm();
    }
    write_attention_forward(w_, stage_, layer_);
    if (stage_.recompute_of(layer_) == Recompute::kSelective || !keep_) w_.free(b_.softmax);
    if (stage_.recompute_of(layer_) == Recompute::kUpProjection || !keep_) w_.free(b_.qkv);
    const BufferId projected = w_.temporary("projected", s_.full_bytes());
    local_matmul("attention.output.weight", "attention-output", b_.context, b_.narrow_context, s_.attended, projected);
    done_with(b_.context);
    if (b_.narrow_context) done_with(*b_.narrow_context);
    residual(projected, "attention.post_norm", bias("attention.output.bias"), b_.input, b_.attention_mask, b_.middle);
  }

  void position_and_query_norm() {
    const std::int64_t rotated = s_.tokens * (s_.query + s_.kv_heads * s_.head_dim);
    if (stage_.model.query_key_norm || stage_.model.query_key_norm_full) {
      w_.compute(hw_models::Norm{rotated / s_.head_dim, s_.head_dim, stage_.model.norm, false, s_.activation},
                 "query-key-norm", {b_.qkv, parameter("attention.query_key_norm").weight}, {b_.qkv});
    }
    if (stage_.model.position == PositionKind::kRotary) {
      w_.compute(rotary_kernel(stage_, false), "rotary", {b_.qkv}, {b_.qkv});
    }
  }

  void experts(BufferId output) {
    norm(b_.middle, stage_.model.norms_per_layer >= 2 ? "mlp.norm" : "attention.norm", b_.mlp_normed);
    const BufferId sum = w_.temporary("experts", s_.stream_bytes());
    write_experts_forward(w_, stage_, layer_, sum, keep_);
    done_with(b_.mlp_normed);
    add_to_stream(sum, "mlp.post_norm", {}, b_.middle, b_.mlp_mask, output);
    done_with(b_.middle);
  }

  void mlp(BufferId output) {
    if (b_.experts) return experts(output);
    if (stage_.model.norms_per_layer >= 2) {
      normed_matmul(b_.middle, "mlp.norm", b_.mlp_normed, "mlp.up.weight", "mlp-up", s_.up, b_.up);
    } else {  // one norm feeds both branches
      normed_matmul(b_.middle, "attention.norm", b_.mlp_normed, "mlp.up.weight", "mlp-up", s_.up, b_.up);
    }
    // What the activation leaves is kept as it is, or narrowed and then only narrow.
    const bool narrowed = narrow_ && s_.narrow.keeps;
    const BufferId activated =
        narrowed ? w_.temporary("wide-activated", s_.tokens * s_.ffn * s_.activation_bytes) : b_.activated;
    write_activation_forward(w_, stage_, mlp_size(s_), b_.up, bias("mlp.up.bias"), activated);
    done_with(b_.up);
    const BufferId projected = w_.temporary("projected", s_.full_bytes());
    const std::optional<BufferId> kept = narrowed ? std::optional(b_.activated) : std::nullopt;
    local_matmul("mlp.down.weight", "mlp-down", activated, kept, s_.ffn, projected);
    if (narrowed) w_.free(activated);
    done_with(b_.activated);
    residual(projected, "mlp.post_norm", bias("mlp.down.bias"), b_.middle, b_.mlp_mask, output);
    done_with(b_.middle);
  }

  /// (reduce) -> (norm) -> bias, dropout, add: {sum, stream, bias if any} -> {output}
  void residual(BufferId projected, const char* norm_part, std::optional<BufferId> bias, BufferId stream, BufferId mask,
                BufferId output) {
    const Moved moved = reduce_stream(w_, stage_, projected);
    moved.await(w_);
    add_to_stream(moved.buffer, norm_part, bias, stream, mask, output);
  }

  void add_to_stream(BufferId reduced, const char* norm_part, std::optional<BufferId> bias, BufferId stream,
                     BufferId mask, BufferId output) {
    if (stage_.model.norms_per_layer >= 4) {
      w_.compute(hw_models::Norm{s_.tokens_between, s_.hidden, stage_.model.norm, false, s_.activation}, norm_part,
                 {reduced, parameter(norm_part).weight}, {reduced});
    }
    const std::int64_t elements = s_.tokens_between * s_.hidden;
    const std::int64_t bytes = s_.stream_bytes();
    const bool dropout = stage_.implementation.dropout;
    if (!stage_.implementation.fused_elementwise && dropout) {
      w_.compute(Elementwise{ElementwiseKind::kScale, elements, bytes, bytes + elements, false}, "dropout", {reduced},
                 {reduced});
    }
    BlockWriter::Buffers reads{reduced, stream}, writes{output};
    if (bias) reads.push_back(*bias);
    if (dropout) writes.push_back(mask);
    w_.compute(Elementwise{dropout ? ElementwiseKind::kBiasDropoutAdd : ElementwiseKind::kResidualAdd, elements,
                           2 * bytes, bytes + (dropout ? elements : 0), false},
               "residual-add", std::move(reads), std::move(writes));
    w_.free(reduced);
    if (dropout) done_with(mask);
  }

  BlockWriter& w_;
  const Stage& stage_;
  const Shapes& s_;
  const LayerBuffers& b_;
  int layer_;
  bool keep_;
  bool narrow_ = s_.narrows(layer_);
};

}  // namespace

void write_layer_forward(BlockWriter& writer, const Stage& stage, int layer, BufferId output, bool keep) {
  writer.at(layer, Phase::kForward);
  LayerForward(writer, stage, layer, keep).run(output);
}

void write_layer_recompute(BlockWriter& writer, const Stage& stage, int layer) {
  writer.at(layer, Phase::kRecompute);
  const BufferId output = writer.temporary("recomputed", stage.shapes.stream_bytes());
  LayerForward(writer, stage, layer, true).run(output);
  writer.free(output);
}

}  // namespace strategies
