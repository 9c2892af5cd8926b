#include "strategies/transformer/experts.h"
#include "strategies/transformer/latent_attention.h"
#include "strategies/transformer/layer.h"
#include "strategies/transformer/layer_parts.h"
#include "strategies/transformer/narrow_operands.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

class LayerBackward {
 public:
  LayerBackward(BlockWriter& writer, const Stage& stage, int layer, GradientBuckets& buckets,
                std::optional<BufferId> into)
      : w_(writer),
        stage_(stage),
        s_(stage.shapes),
        b_(stage.layers.at(layer)),
        layer_(layer),
        buckets_(buckets),
        into_(into) {}

  BufferId mlp(BufferId gradient) {
    if (b_.experts) return experts(gradient);
    const BufferId branch = branch_gradient(gradient, b_.mlp_mask, "mlp.post_norm", "mlp-down");
    const BufferId activated = w_.temporary("gradient-activated", s_.tokens * s_.ffn * s_.activation_bytes);
    row_split("mlp.down", "mlp-down", branch, b_.activated, s_.ffn, activated);
    done_with_branch(branch, gradient);
    buckets_.release(b_.activated);
    const BufferId up = gradient_operand(w_, buckets_, "gradient-up", s_.tokens * s_.up * s_.activation_bytes);
    write_activation_backward(w_, stage_, mlp_size(s_), b_.up, activated, fused_bias(), up);
    w_.free(activated);
    w_.free(b_.up);
    const BufferId normed = column_split("mlp.up", "mlp-up", up, b_.mlp_normed, s_.up);
    return mlp_norm(normed, gradient);
  }

  BufferId attention(BufferId gradient) {
    const BufferId branch = branch_gradient(gradient, b_.attention_mask, "attention.post_norm", "attention-output");
    const BufferId context = w_.temporary("gradient-context", s_.tokens * s_.attended * s_.activation_bytes);
    row_split("attention.output", "attention-output", branch, b_.narrow_context.value_or(b_.context), s_.attended,
              context);
    done_with_branch(branch, gradient);
    if (b_.narrow_context) buckets_.release(*b_.narrow_context);
    if (stage_.recompute_of(layer_) == Recompute::kSelective) write_attention_recompute(w_, stage_, layer_);
    if (stage_.recompute_of(layer_) == Recompute::kUpProjection) write_latent_recompute(w_, stage_, layer_);
    const std::int64_t packed = s_.tokens * s_.qkv * s_.activation_bytes;
    const BufferId qkv = operand("gradient-qkv", packed, !b_.latent);
    write_attention_backward(w_, stage_, layer_, context, qkv);
    for (const BufferId buffer : {context, b_.softmax, b_.context, b_.qkv}) buckets_.release(buffer);
    if (!b_.latent) position_and_query_norm(qkv);
    const BufferId normed = b_.latent ? write_latent_backward(w_, stage_, layer_, qkv, buckets_)
                                      : column_split("attention.qkv", "qkv", qkv, b_.attention_normed, s_.qkv);
    return norm_and_add("attention.norm", b_.input, normed, gradient,
                        into_ ? *into_ : stream_gradient(w_, stage_, buckets_), true);
  }

 private:
  bool has(const std::string& part) const { return stage_.parameters.contains(layer_parameter(layer_, part.c_str())); }
  const Parameter& parameter(const std::string& part) const {
    return stage_.parameters.find(layer_parameter(layer_, part.c_str()));
  }
  /// The bias that the activation adds itself, so that `up` holds what comes before it.
  std::optional<BufferId> fused_bias() const {
    if (!stage_.implementation.fused_elementwise || !has("mlp.up.bias")) return std::nullopt;
    return parameter("mlp.up.bias").weight;
  }
  void ready(const std::string& part) {
    if (has(part)) buckets_.ready(parameter(part));
  }

  BufferId experts(BufferId gradient) {
    const BufferId branch = local_branch(gradient, b_.mlp_mask, "mlp.post_norm");
    const BufferId normed = write_experts_backward(w_, stage_, layer_, branch, buckets_);
    if (branch != gradient) buckets_.release(branch);
    return mlp_norm(normed, gradient);
  }

  BufferId mlp_norm(BufferId normed, BufferId gradient) {
    const char* norm_part = stage_.model.norms_per_layer >= 2 ? "mlp.norm" : "attention.norm";
    return norm_and_add(norm_part, b_.middle, normed, gradient, stream_gradient(w_, stage_, buckets_),
                        norm_part[0] == 'm');
  }

  /// Gradient of the branch's sum on this rank's rows: dropout and post-norm undone.
  BufferId local_branch(BufferId gradient, BufferId mask, const char* norm_part) {
    BufferId local = gradient;
    const std::int64_t elements = s_.tokens_between * s_.hidden;
    const std::int64_t bytes = s_.stream_bytes();
    const bool gathers = stage_.gathers_sequence(), norms = stage_.model.norms_per_layer >= 4;
    if (stage_.implementation.dropout) {
      const BufferId dropped = operand("gradient-dropout", bytes, !norms && !gathers);
      w_.compute(Elementwise{ElementwiseKind::kBiasDropoutAdd, elements, bytes + elements, bytes, true},
                 "dropout-backward", {local, mask}, {dropped});
      w_.free(mask);
      local = dropped;
    }
    if (norms) {
      const BufferId unnormed = operand("gradient-post-norm", bytes, !gathers);
      w_.compute(hw_models::Norm{s_.tokens_between, s_.hidden, stage_.model.norm, true, s_.activation},
                 "post-norm-backward", {local, parameter(norm_part).weight}, {unnormed, parameter(norm_part).gradient});
      if (local != gradient) w_.free(local);
      ready(norm_part);
      local = unnormed;
    }
    return local;
  }

  /// The same as the products of `label` read it: whole [tokens, hidden].
  BufferId branch_gradient(BufferId gradient, BufferId mask, const char* norm_part, const char* label) {
    const BufferId local = local_branch(gradient, mask, norm_part);
    const bool gathers = stage_.gathers_sequence();
    if (narrow_) {
      const BufferId narrow = write_narrow_branch(w_, stage_, buckets_, label, local);
      if (local != gradient) w_.free(local);
      return narrow;
    }
    const std::optional<BufferId> into =
        gathers && buckets_.defers() ? operand("gradient-gathered", s_.full_bytes(), true) : stage_.row_gathers;
    const Moved gathered = gather_stream(w_, stage_, local, into);
    if (gathered.buffer != local && local != gradient) w_.free(local);
    gathered.await(w_);
    return gathered.buffer;
  }

  /// `multiplied`: products read it.
  BufferId operand(const std::string& name, std::int64_t bytes, bool multiplied) {
    return multiplied ? gradient_operand(w_, buckets_, name, bytes) : w_.temporary(name, bytes);
  }
  void done_with_branch(BufferId branch, BufferId gradient) {
    if (!buckets_.defers()) free_gathered(w_, branch, gradient);
  }

  /// Second matrix: its output gradient is whole on every rank, both products are local.
  void row_split(const std::string& part, const char* label, BufferId dy, BufferId x, std::int64_t in, BufferId dx) {
    const Parameter& weight = parameter(part + ".weight");
    write_input_gradient(w_, stage_, weight, label, dy, in, s_.hidden, dx, s_.operands(layer_));
    const WeightProduct product{label, dy, x, in, s_.hidden, s_.operands(layer_), false};
    buckets_.defers() ? buckets_.defer(weight, product) : write_weight_product(w_, stage_, weight, product);
    bias_gradient(part, label, dy, s_.hidden);
    buckets_.ready(weight);
  }
  BufferId column_split(const std::string& part, const char* label, BufferId dy, BufferId normed, std::int64_t out) {
    bias_gradient(part, label, dy, out);
    const BufferId gradient = narrow_ ? write_narrow_gradient(w_, stage_, buckets_, label, dy, s_.tokens * out) : dy;
    return write_column_backward(
        w_, stage_, parameter(part + ".weight"),
        {label, gradient, normed, s_.hidden, out, s_.operands(layer_), stage_.gathers_sequence()}, buckets_);
  }
  void bias_gradient(const std::string& part, const char* label, BufferId dy, std::int64_t columns) {
    if (!has(part + ".bias")) return;
    write_bias_gradient(w_, stage_, parameter(part + ".bias"), label, dy, columns);
    ready(part + ".bias");
  }

  void position_and_query_norm(BufferId qkv) {
    const std::int64_t rotated = s_.tokens * (s_.query + s_.kv_heads * s_.head_dim);
    if (stage_.model.position == PositionKind::kRotary) {
      w_.compute(rotary_kernel(stage_, true), "rotary-backward", {qkv}, {qkv});
    }
    if (has("attention.query_key_norm")) {
      const Parameter& norm = parameter("attention.query_key_norm");
      w_.compute(hw_models::Norm{rotated / s_.head_dim, s_.head_dim, stage_.model.norm, true, s_.activation},
                 "query-key-norm-backward", {qkv, norm.weight}, {qkv, norm.gradient});
      buckets_.ready(norm);
    }
  }

  /// Norm backward into `sum`; then the gradient that came along the residual stream is added (autograd's own pass).
  BufferId norm_and_add(const char* part, BufferId input, BufferId normed_gradient, BufferId stream, BufferId sum,
                        bool completes) {
    const Parameter& norm = parameter(part);
    w_.compute(hw_models::Norm{s_.tokens_between, s_.hidden, stage_.model.norm, true, s_.activation},
               std::string(part) + "-backward", {input, normed_gradient, norm.weight}, {sum, norm.gradient});
    write_composed_norm(w_, stage_, sum, s_.tokens_between * s_.hidden, true);
    w_.free(normed_gradient);
    w_.free(input);
    if (completes) buckets_.ready(norm);
    write_stream_sum(w_, stage_, "residual-gradient", sum, stream);
    buckets_.release(stream);
    return sum;
  }

  BlockWriter& w_;
  const Stage& stage_;
  const Shapes& s_;
  const LayerBuffers& b_;
  int layer_;
  GradientBuckets& buckets_;
  std::optional<BufferId> into_;  ///< where the gradient of the layer's input goes; a buffer of its own without
  bool narrow_ = s_.narrows(layer_);
};

}  // namespace

BufferId write_layer_backward(BlockWriter& writer, const Stage& stage, int layer, BufferId gradient,
                              GradientBuckets& buckets, std::optional<BufferId> into) {
  writer.at(layer, Phase::kBackward);
  LayerBackward backward(writer, stage, layer, buckets, into);
  return backward.attention(backward.mlp(gradient));
}

}  // namespace strategies
