#include "strategies/transformer/stage.h"

#include <string>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/experts.h"

namespace strategies {
namespace {

/// Flash attention keeps one fp32 log-sum-exp per row and head. The unfused kernels keep the probabilities and, with
/// dropout, their mask (1 byte) and the dropped probabilities (Korthikanti et al., section 4.1: 5 a s^2 b bytes).
std::int64_t softmax_bytes(const Stage& stage) {
  const Shapes& s = stage.shapes;
  if (stage.implementation.attention != hw_models::AttentionKernel::kUnfused) return s.tokens * s.heads * 4;
  const std::int64_t scores = s.batch * s.heads * s.sequence * s.sequence;
  return scores * (stage.implementation.dropout ? 2 * s.activation_bytes + 1 : s.activation_bytes);
}

}  // namespace

Recompute Stage::recompute_of(int layer) const {
  const bool whole_layers = implementation.selective == SelectiveRecompute::kAlternateLayers;
  if (plan.recompute != Recompute::kSelective || !whole_layers) return plan.recompute;
  return layer % 2 == 1 ? Recompute::kFull : Recompute::kNone;  // the second of every pair
}

/// Operands of the up-projections and what the latents' norms read.
LatentBuffers add_latent_buffers(const Stage& stage, int layer, bool kept, bool operand_kept) {
  const Shapes& s = stage.shapes;
  const LatentAttention& latent = *stage.model.latent;
  const bool narrow = s.narrows(layer) && s.narrow.keeps;
  const auto add = [&](const char* part, std::int64_t columns, bool operand) {
    const std::int64_t elements = s.tokens_between * columns;
    return add_buffer(stage.role, layer_parameter(layer, part),
                      operand && narrow ? s.narrow.bytes(elements) : elements * s.activation_bytes, Holds::kActivations,
                      (operand ? operand_kept : kept) ? Lifetime::kMicrobatch : Lifetime::kBlock);
  };
  LatentBuffers b;
  if (latent.query_rank > 0) {
    b.query = add("attention.query-latent", latent.query_rank, false);
    b.query_normed = add("attention.query-normed", latent.query_rank, true);
  }
  b.kv = add("attention.kv-latent", latent.kv_rank + latent.rope_dim, false);
  b.kv_normed = add("attention.kv-normed", latent.kv_rank, true);
  return b;
}

LayerBuffers add_layer_buffers(const Stage& stage, int layer) {
  const Shapes& s = stage.shapes;
  const bool full = stage.recompute_of(layer) == Recompute::kFull;
  const bool operand_kept = !full || stage.splits_backward;  // of a weight gradient
  const bool up_recomputed = stage.recompute_of(layer) == Recompute::kUpProjection;
  const bool softmax_kept = stage.recompute_of(layer) == Recompute::kNone || up_recomputed;
  const auto add = [&](const char* part, std::int64_t bytes, bool kept) {
    return add_buffer(stage.role, "layers." + std::to_string(layer) + "." + part, bytes, Holds::kActivations,
                      kept ? Lifetime::kMicrobatch : Lifetime::kBlock);
  };
  const std::int64_t stream = s.stream_bytes();
  const std::int64_t wide = s.tokens * s.activation_bytes;
  const bool narrow = s.narrows(layer) && s.narrow.keeps;
  const std::int64_t operand = narrow ? s.narrow.bytes(s.tokens_between * s.hidden) : stream;
  LayerBuffers b;
  b.input = add("input", stream, true);
  b.attention_normed = add("attention.normed", operand, operand_kept);
  const std::int64_t copied = stage.implementation.copies_keys_and_values ? 2 * s.kv_heads * s.head_dim : 0;
  if (stage.model.latent) b.latent = add_latent_buffers(stage, layer, !full, operand_kept);
  b.qkv = add("attention.qkv", wide * (s.qkv + copied), !full && !up_recomputed);
  b.context = add("attention.context", wide * s.attended, narrow ? !full : operand_kept);
  if (narrow) b.narrow_context = add("attention.narrow-context", s.narrow.bytes(s.tokens * s.attended), operand_kept);
  const bool exchanges_heads =
      stage.plan.context > 1 && stage.implementation.context_exchange == ContextExchange::kAllToAll;
  if (exchanges_heads) b.exchanged_context = add("attention.exchanged", wide * s.attended, softmax_kept);
  b.softmax = add("attention.softmax", softmax_bytes(stage), softmax_kept);
  b.middle = add("middle", stream, !full);
  const bool experts = is_expert_layer(stage.model, layer);
  b.mlp_normed = add("mlp.normed", experts ? stream : operand, operand_kept);  // a router's products are wide
  if (experts) {
    b.experts = add_expert_buffers(stage, layer, !full, operand_kept);
  } else {
    b.up = add("mlp.up", wide * s.up, !full);
    // A gate in passes of its own keeps its activated half as well as the product.
    const std::int64_t product = narrow ? s.narrow.bytes(s.tokens * s.ffn) : wide * s.ffn;
    b.activated = add("mlp.activated", product + (stage.separate_gate() ? wide * s.ffn : 0), operand_kept);
  }
  if (stage.implementation.dropout) {
    b.attention_mask = add("attention.mask", s.tokens_between * s.hidden, !full);
    b.mlp_mask = add("mlp.mask", s.tokens_between * s.hidden, !full);
  }
  return b;
}

void add_head_buffers(Stage& stage) {
  const Shapes& s = stage.shapes;
  const auto logit = static_cast<std::int64_t>(hw_models::info(stage.implementation.logits).bytes);
  const auto add_head = [&](const std::string& prefix) {
    const auto add = [&](const char* name, std::int64_t bytes) {
      return add_buffer(stage.role, prefix + name, bytes, Holds::kActivations, Lifetime::kMicrobatch);
    };
    return Head{.input = add("head.input", s.stream_bytes()),
                .normed = add("head.normed", s.stream_bytes()),
                .probabilities = add("head.probabilities", s.tokens * s.vocabulary * logit)};
  };
  stage.head = add_head("");
  for (int k = 0; k < stage.model.extra_prediction_layers; ++k) {
    const int layer = stage.model.layers + k;
    stage.layers[layer] = add_layer_buffers(stage, layer);
    const bool joined_kept = stage.recompute_of(layer) != Recompute::kFull || stage.splits_backward;
    PredictionBuffers b;
    b.embedded = add_buffer(stage.role, layer_parameter(layer, "prediction.embedded"), s.stream_bytes(),
                            Holds::kActivations, Lifetime::kMicrobatch);
    b.joined = add_buffer(stage.role, layer_parameter(layer, "prediction.joined"), 2 * s.stream_bytes(),
                          Holds::kActivations, joined_kept ? Lifetime::kMicrobatch : Lifetime::kBlock);
    b.head = add_head(layer_parameter(layer, "prediction."));
    b.head.norm = layer_parameter(layer, "prediction.final_norm");
    b.head.layer = layer;
    stage.predictions.push_back(b);
  }
}

void add_persistent_buffers(Stage& stage) {
  const auto add = [&](const char* name, std::int64_t bytes) {
    return add_buffer(stage.role, name, bytes, Holds::kWorkspace, Lifetime::kStatic);
  };
  const std::int64_t workspace = stage.implementation.library_workspace.value();
  if (workspace > 0) add("library-workspace", workspace);
  if (!stage.implementation.persistent_gathers || !stage.gathers_sequence()) return;
  const std::int64_t sequence = stage.shapes.full_bytes();
  stage.column_gathers = add("gathered-column", sequence);
  stage.row_gathers = add("gathered-row", sequence);
}

}  // namespace strategies
