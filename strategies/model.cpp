#include "strategies/model.h"

#include <algorithm>

namespace strategies {
namespace {

/// No model is larger; below it every count fits an int64 with room for bytes per parameter.
constexpr double kMostParameters = 1e16;

/// Weights of one part of a layer: those of matrices (2 FLOPs per token each) and the rest (norms, biases).
/// N is int64 for exact counts and double where overflow must be detected.
template <class N>
struct Weights {
  N matrices = 0, vectors = 0;
  N total() const { return matrices + vectors; }
};

template <class N>
Weights<N> operator+(Weights<N> a, Weights<N> b) {
  return {a.matrices + b.matrices, a.vectors + b.vectors};
}

template <class N>
Weights<N> operator*(N times, Weights<N> a) {
  return {times * a.matrices, times * a.vectors};
}

template <class N>
N norm_weights(const ModelSpec& model) {
  return static_cast<N>(model.hidden) * (model.norm == hw_models::NormKind::kLayerNorm ? 2 : 1);
}

/// DeepSeek-V2 (arXiv 2405.04434) §2.1: down-projections to the latents, their norms, up-projections per head.
template <class N>
Weights<N> latent_attention_weights(const ModelSpec& model) {
  const LatentAttention& latent = *model.latent;
  const N hidden = static_cast<N>(model.hidden), heads = static_cast<N>(model.heads);
  const N query_rank = static_cast<N>(latent.query_rank), kv_rank = static_cast<N>(latent.kv_rank);
  const N rope = static_cast<N>(latent.rope_dim), nope = static_cast<N>(latent.nope_dim);
  const N value = static_cast<N>(latent.value_dim);
  const N query_width = heads * (nope + rope);
  Weights<N> weights;
  weights.matrices = query_rank > 0 ? hidden * query_rank + query_rank * query_width : hidden * query_width;
  weights.matrices += hidden * (kv_rank + rope) + kv_rank * heads * (nope + value) + heads * value * hidden;
  weights.vectors = query_rank + kv_rank;
  return weights;
}

template <class N>
Weights<N> attention_weights(const ModelSpec& model) {
  if (model.latent) return latent_attention_weights<N>(model);
  const N hidden = static_cast<N>(model.hidden), head_dim = static_cast<N>(model.head_dim);
  const N query_width = static_cast<N>(model.heads) * head_dim, kv_width = static_cast<N>(model.kv_heads) * head_dim;
  Weights<N> weights;
  weights.matrices = hidden * (query_width + 2 * kv_width) + query_width * hidden;
  if (model.qkv_bias) weights.vectors += query_width + 2 * kv_width;
  if (model.attention_output_bias) weights.vectors += hidden;
  if (model.query_key_norm) weights.vectors += 2 * head_dim;
  if (model.query_key_norm_full) weights.vectors += query_width + kv_width;
  if (model.attention_sinks) weights.vectors += static_cast<N>(model.heads);
  return weights;
}

template <class N>
Weights<N> mlp_weights(const ModelSpec& model, std::int64_t ffn, bool bias) {
  const N hidden = static_cast<N>(model.hidden), width = static_cast<N>(ffn);
  const N inputs = model.gated_mlp ? 2 : 1;
  return {(inputs + 1) * hidden * width, bias ? inputs * width + hidden : N{0}};
}

/// `routed` of the experts, the router and the shared experts.
template <class N>
Weights<N> experts_weights(const ModelSpec& model, int routed) {
  const ExpertSpec& experts = *model.experts;
  const N hidden = static_cast<N>(model.hidden), count = static_cast<N>(experts.experts);
  Weights<N> weights = static_cast<N>(routed) * mlp_weights<N>(model, experts.ffn, model.expert_bias);
  weights.matrices += hidden * count;
  if (experts.router_bias) weights.vectors += count;
  if (experts.shared_ffn > 0) weights = weights + mlp_weights<N>(model, experts.shared_ffn, model.expert_bias);
  if (experts.shared_gate) weights.matrices += hidden;
  return weights;
}

template <class N>
Weights<N> layer_weights(const ModelSpec& model, Weights<N> mlp) {
  const Weights<N> norms{0, static_cast<N>(model.norms_per_layer) * norm_weights<N>(model)};
  return attention_weights<N>(model) + mlp + norms;
}

/// Layers with experts among all: floor((layers - leading) / frequency).
int expert_layers(const ModelSpec& model) {
  if (!model.experts) return 0;
  return std::max(0, model.layers - model.experts->leading_dense_layers) / std::max(1, model.experts->frequency);
}

/// All layers with `routed` experts in the layers that have experts.
template <class N>
Weights<N> all_layers(const ModelSpec& model, int routed) {
  const int with_experts = expert_layers(model);
  Weights<N> sum = static_cast<N>(model.layers - with_experts) *
                   layer_weights<N>(model, mlp_weights<N>(model, model.ffn, model.mlp_bias));
  if (with_experts > 0) {
    sum = sum + static_cast<N>(with_experts) * layer_weights<N>(model, experts_weights<N>(model, routed));
  }
  return sum;
}

template <class N>
N output_table(const ModelSpec& model) {
  return static_cast<N>(model.vocabulary) * static_cast<N>(model.hidden);
}

/// Extra prediction layers (DeepSeek-V3 §2.2): three norms, the projection of two streams into one, a layer like the
/// last; the tables are the model's.
template <class N>
Weights<N> prediction_weights(const ModelSpec& model, int routed) {
  if (model.extra_prediction_layers == 0) return {};
  const N hidden = static_cast<N>(model.hidden);
  const bool experts = is_expert_layer(model, model.layers);
  const Weights<N> layer = layer_weights<N>(
      model, experts ? experts_weights<N>(model, routed) : mlp_weights<N>(model, model.ffn, model.mlp_bias));
  return static_cast<N>(model.extra_prediction_layers) *
         (layer + Weights<N>{2 * hidden * hidden, 3 * norm_weights<N>(model)});
}

/// Everything outside the layers.
template <class N>
N outer_parameters(const ModelSpec& model) {
  N sum = output_table<N>(model) + norm_weights<N>(model);
  if (!model.tied_embeddings) sum += output_table<N>(model);
  if (model.head_bias) sum += static_cast<N>(model.vocabulary);
  if (model.embedding_norm) sum += norm_weights<N>(model);
  if (model.position == PositionKind::kLearned) {
    sum += static_cast<N>(model.max_positions) * static_cast<N>(model.hidden);
  }
  return sum;
}

void check_attention(const ModelSpec& model, std::vector<ModelDefect>& defects) {
  if (model.kv_heads <= 0 || model.heads % model.kv_heads != 0) {
    defects.push_back({"kv_heads",
                       std::to_string(model.kv_heads) + " key/value heads do not divide the " +
                           std::to_string(model.heads) + " attention heads",
                       "each key/value head serves the same number of query heads"});
  }
  if (!model.latent) return;
  if (model.kv_heads != model.heads) {
    defects.push_back({"kv_heads", "latent attention has as many key/value heads as heads", "leave kv_heads out"});
  }
  if (model.qkv_bias || model.attention_output_bias) {
    defects.push_back({"latent", "biases of latent attention are not supported", ""});
  }
  if (model.query_key_norm || model.query_key_norm_full) {
    defects.push_back({"latent", "norms of queries and keys beside those of the latents are not supported",
                       "leave query_key_norm out"});
  }
}

void check_experts(const ModelSpec& model, std::vector<ModelDefect>& defects) {
  const ExpertSpec& experts = *model.experts;
  if (experts.per_token > experts.experts) {
    defects.push_back({"experts.per_token",
                       std::to_string(experts.per_token) + " experts per token, but a layer has only " +
                           std::to_string(experts.experts),
                       ""});
  }
  if (expert_layers(model) == 0) {
    defects.push_back({"experts.leading_dense_layers",
                       "no layer is left for the experts: " + std::to_string(model.layers) + " layers, the first " +
                           std::to_string(experts.leading_dense_layers) + " dense, then one in " +
                           std::to_string(experts.frequency) + " with experts",
                       "leave 'experts' out for a dense model"});
  }
}

}  // namespace

bool is_expert_layer(const ModelSpec& model, int layer) {
  if (!model.experts || layer < model.experts->leading_dense_layers) return false;
  return (layer - model.experts->leading_dense_layers + 1) % model.experts->frequency == 0;
}

std::int64_t window_of(const ModelSpec& model, int layer, std::int64_t sequence_length) {
  if (!model.window || model.window->tokens >= sequence_length) return 0;
  const int every = model.window->full_every;
  return every > 0 && (layer + 1) % every == 0 ? 0 : model.window->tokens;
}

std::vector<ModelDefect> check_model(const ModelSpec& model) {
  std::vector<ModelDefect> defects;
  check_attention(model, defects);
  if (model.experts) check_experts(model, defects);
  if (model.ffn <= 0 && expert_layers(model) < model.layers) {
    defects.push_back({"ffn", "the width of the dense layers' MLP is missing", "write it, e.g. 4 x hidden"});
  }
  if (model.position == PositionKind::kLearned && model.max_positions <= 0) {
    defects.push_back({"max_positions", "learned positions need the length of their table", ""});
  }
  const int all_experts = model.experts ? model.experts->experts : 0;
  if (all_layers<double>(model, all_experts).total() + outer_parameters<double>(model) > kMostParameters) {
    defects.push_back({"layers", "the model would have more than 1e16 parameters", "check the sizes"});
  }
  return defects;
}

ParameterCount count_parameters(const ModelSpec& model) {
  using Count = std::int64_t;
  const int all_experts = model.experts ? model.experts->experts : 0;
  const int active_experts = model.experts ? model.experts->per_token : 0;
  const Count outer = outer_parameters<Count>(model);
  ParameterCount count;
  count.total = all_layers<Count>(model, all_experts).total() + outer;
  count.active = all_layers<Count>(model, active_experts).total() + outer;
  count.embedding = output_table<Count>(model);
  if (!model.tied_embeddings) count.head = output_table<Count>(model) + (model.head_bias ? model.vocabulary : 0);
  const int with_experts = expert_layers(model);
  if (with_experts < model.layers) {
    count.dense_layer = layer_weights<Count>(model, mlp_weights<Count>(model, model.ffn, model.mlp_bias)).total();
  }
  if (with_experts > 0) {
    count.expert_layer = layer_weights<Count>(model, experts_weights<Count>(model, all_experts)).total();
  }
  count.prediction = prediction_weights<Count>(model, all_experts).total();
  return count;
}

// Each weight of a matrix costs 2 FLOPs forward and 4 backward per token. Q K^T and P V of one token against all
// `sequence_length` keys: 2 heads (head_dim + value_dim) FLOPs per key forward, twice that backward. Of a band of keys
// less than w before or behind, s queries see s^2 - (s - w)^2 in all, 2 w - w^2 / s each.
TokenFlops training_flops_per_token(const ModelSpec& model, std::int64_t sequence_length) {
  const int active_experts = model.experts ? model.experts->per_token : 0;
  TokenFlops flops;
  const int heads = 1 + model.extra_prediction_layers;
  const double matrices =
      all_layers<double>(model, active_experts).matrices + prediction_weights<double>(model, active_experts).matrices;
  flops.dense = 6.0 * (matrices + heads * output_table<double>(model));
  const std::int64_t key_dim = model.latent ? model.latent->nope_dim + model.latent->rope_dim : model.head_dim;
  const std::int64_t value_dim = model.latent ? model.latent->value_dim : model.head_dim;
  const auto sequence = static_cast<double>(sequence_length);
  double keys = 0;  // of all layers
  for (int layer = 0; layer < model.layers + model.extra_prediction_layers; ++layer) {
    const auto window = static_cast<double>(window_of(model, layer, sequence_length));
    keys += window > 0 ? 2 * window - window * window / sequence : sequence;
  }
  flops.attention = 3.0 * 2.0 * static_cast<double>(model.heads) * static_cast<double>(key_dim + value_dim) * keys;
  return flops;
}

double latent_up_flops_per_token(const ModelSpec& model) {
  if (!model.latent) return 0;
  const LatentAttention& latent = *model.latent;
  const auto heads = static_cast<double>(model.heads);
  const auto query_in = static_cast<double>(latent.query_rank > 0 ? latent.query_rank : model.hidden);
  const double query = query_in * heads * static_cast<double>(model.head_dim);
  const double keys_and_values =
      static_cast<double>(latent.kv_rank) * heads * static_cast<double>(latent.nope_dim + latent.value_dim);
  return 2.0 * (model.layers + model.extra_prediction_layers) * (query + keys_and_values);
}

}  // namespace strategies
