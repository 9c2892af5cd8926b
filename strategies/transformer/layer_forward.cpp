#include <optional>
#include <string>
#include <utility>

#include "strategies/transformer/layer.h"
#include "strategies/transformer/layer_parts.h"

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
  }

  /// `label` names the operation; {input, weight, bias if it is added here} -> {output}
  void matmul(const char* part, const char* label, BufferId input, std::int64_t in, std::int64_t out, BufferId output,
              bool behind_norm = false, std::optional<BufferId> bias = {}) {
    write_narrowing(w_, stage_, label, input, in, behind_norm && stage_.implementation.fused_elementwise);
    Matmul kernel{.m = s_.tokens, .n = out, .k = in, .dtype = s_.matmul, .output = s_.activation, .transpose_b = true};
    BlockWriter::Buffers reads{input, parameter(part).weight};
    if (bias) reads.push_back(*bias);
    w_.compute(kernel, label, std::move(reads), {output});
  }

  /// norm -> (gather) -> first matrix
  void normed_matmul(BufferId input, const char* norm_part, BufferId normed, const char* part, const char* label,
                     std::int64_t out, BufferId output, std::optional<BufferId> bias = {}) {
    norm(input, norm_part, normed);
    const Moved gathered = gather_stream(w_, stage_, normed, stage_.column_gathers);
    gathered.await(w_);
    matmul(part, label, gathered.buffer, s_.hidden, out, output, true, bias);
    free_gathered(w_, gathered.buffer, normed);
    done_with(normed);
  }

  void attention() {
    normed_matmul(b_.input, "attention.norm", b_.attention_normed, "attention.qkv.weight", "qkv", s_.qkv, b_.qkv,
                  bias("attention.qkv.bias"));
    position_and_query_norm();
    write_attention_forward(w_, stage_, layer_);
    if (stage_.recompute_of(layer_) == Recompute::kSelective || !keep_) w_.free(b_.softmax);
    done_with(b_.qkv);
    const BufferId projected = w_.temporary("projected", s_.full_bytes());
    matmul("attention.output.weight", "attention-output", b_.context, s_.query, s_.hidden, projected);
    done_with(b_.context);
    residual(projected, "attention.post_norm", bias("attention.output.bias"), b_.input, b_.attention_mask, b_.middle);
  }

  void position_and_query_norm() {
    const std::int64_t rotated = s_.tokens * (s_.query + s_.kv_heads * s_.head_dim);
    if (stage_.model.query_key_norm || stage_.model.query_key_norm_full) {
      w_.compute(hw_models::Norm{rotated / s_.head_dim, s_.head_dim, stage_.model.norm, false, s_.activation},
                 "query-key-norm", {b_.qkv, parameter("attention.query_key_norm").weight}, {b_.qkv});
    }
    if (stage_.model.position == PositionKind::kRotary) {
      w_.compute(rotary_kernel(s_, false), "rotary", {b_.qkv}, {b_.qkv});
    }
  }

  void mlp(BufferId output) {
    if (stage_.model.norms_per_layer >= 2) {
      normed_matmul(b_.middle, "mlp.norm", b_.mlp_normed, "mlp.up.weight", "mlp-up", s_.up, b_.up);
    } else {  // one norm feeds both branches
      normed_matmul(b_.middle, "attention.norm", b_.mlp_normed, "mlp.up.weight", "mlp-up", s_.up, b_.up);
    }
    write_activation_forward(w_, stage_, b_.up, bias("mlp.up.bias"), b_.activated);
    done_with(b_.up);
    const BufferId projected = w_.temporary("projected", s_.full_bytes());
    matmul("mlp.down.weight", "mlp-down", b_.activated, s_.ffn, s_.hidden, projected);
    done_with(b_.activated);
    residual(projected, "mlp.post_norm", bias("mlp.down.bias"), b_.middle, b_.mlp_mask, output);
    done_with(b_.middle);
  }

  /// (reduce) -> (norm) -> bias, dropout, add: {sum, stream, bias if any} -> {output}
  void residual(BufferId projected, const char* norm_part, std::optional<BufferId> bias, BufferId stream, BufferId mask,
                BufferId output) {
    const Moved moved = reduce_stream(w_, stage_, projected);
    moved.await(w_);
    const BufferId reduced = moved.buffer;
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
