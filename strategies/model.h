// A transformer's shape: what decides its operations, parameters and activations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw_models/kernel.h"

namespace strategies {

enum class PositionKind : std::uint8_t { kLearned, kRotary, kAlibi, kNone };
enum class Activation : std::uint8_t { kGelu, kSilu, kSquaredRelu, kRelu };

/// Mixture of experts in every `frequency`-th layer after the first `leading_dense_layers`: with frequency 2 and no
/// leading dense layers, layers 1, 3, 5 ... (from 0) have experts.
struct ExpertSpec {
  int experts = 0;  ///< routed experts per layer
  int per_token = 0;
  std::int64_t ffn = 0;         ///< width of one routed expert
  std::int64_t shared_ffn = 0;  ///< total width of the shared experts, 0 = none
  int leading_dense_layers = 0;
  int frequency = 1;
  bool shared_gate = false;  ///< a hidden -> 1 gate on the shared expert (Qwen1.5-MoE)
  bool router_bias = false;
  /// Every expert takes this many times its even share of a rank's choices: more are dropped, fewer padded. 0 = all are
  /// taken.
  double capacity_factor = 0;
};

/// Multi-head latent attention (DeepSeek). query_rank 0 = queries are not compressed. ModelSpec::head_dim is then
/// nope_dim + rope_dim, the width of a head's query and key, and kv_heads = heads.
struct LatentAttention {
  std::int64_t query_rank = 0, kv_rank = 0, rope_dim = 0, nope_dim = 0, value_dim = 0;
};

/// Queries of most layers see the last `tokens` tokens only, their own included (Mistral; Gemma 2 and 3, gpt-oss: of
/// every `full_every` layers the last one sees all).
struct AttentionWindow {
  std::int64_t tokens = 0;
  int full_every = 0;  ///< 0 = no layer sees all
};

struct ModelSpec {
  std::string name;
  int layers = 0;
  std::int64_t hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t ffn = 0;   ///< of dense layers
  bool gated_mlp = true;  ///< three matrices (SwiGLU, GeGLU) or two
  Activation activation = Activation::kSilu;
  std::int64_t vocabulary = 0;  ///< as the model defines it; padding is the implementation's
  bool tied_embeddings = false;
  PositionKind position = PositionKind::kRotary;
  std::int64_t max_positions = 0;  ///< rows of a learned position table; otherwise informative
  hw_models::NormKind norm = hw_models::NormKind::kRmsNorm;
  int norms_per_layer = 2;           ///< 1 with a shared parallel norm, 4 with sandwich norms
  bool parallel_block = false;       ///< attention and MLP read the same norm (GPT-J, Falcon)
  bool embedding_norm = false;       ///< BLOOM
  bool query_key_norm = false;       ///< per-head norms of Q and K (Qwen3, Gemma-3)
  bool query_key_norm_full = false;  ///< norms over the whole projection (OLMo-2)
  bool qkv_bias = false, attention_output_bias = false, mlp_bias = false, head_bias = false;
  bool attention_sinks = false;  ///< one learned logit per head (gpt-oss)
  bool expert_bias = false;
  std::optional<ExpertSpec> experts;
  std::optional<LatentAttention> latent;
  std::optional<AttentionWindow> window;
  /// Multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2): modules behind the last layer, each a
  /// projection of the hidden state and the next token's embedding, a layer and a loss of its own through the shared
  /// head. Trained, not in the totals. The layer of module k (from 0) counts as layer `layers` + k.
  int extra_prediction_layers = 0;
};

/// Does layer `layer` (from 0) have experts instead of the dense MLP?
bool is_expert_layer(const ModelSpec& model, int layer);

/// Tokens that a query of `layer` sees in a sequence; 0 = all before it.
std::int64_t window_of(const ModelSpec& model, int layer, std::int64_t sequence_length);

/// A contradiction in a model, named by our word for the field ("kv_heads", "experts.per_token").
struct ModelDefect {
  std::string field, message, advice;
};
/// What makes `model` impossible: sizes that do not divide, too many parameters to count, ... Empty = sound.
std::vector<ModelDefect> check_model(const ModelSpec& model);

/// Numbers of parameters, padding excluded.
struct ParameterCount {
  std::int64_t total = 0;
  std::int64_t active = 0;        ///< used for one token
  std::int64_t embedding = 0;     ///< input table (shared with the head when tied)
  std::int64_t head = 0;          ///< separate output table, 0 when tied
  std::int64_t dense_layer = 0;   ///< one dense layer, 0 when the model has none
  std::int64_t expert_layer = 0;  ///< one MoE layer, all experts, 0 when the model has none
  std::int64_t prediction = 0;    ///< all extra prediction layers, without the tables that they share
};

/// `model` must pass check_model.
ParameterCount count_parameters(const ModelSpec& model);

/// Matmul FLOPs of one token, forward and backward (3 x forward), including the LM head and extra prediction layers.
/// `attention` is the share of Q K^T and P V over the full square at `sequence_length`, or the band of keys less than a
/// window before or behind a query; halve it for the causal count.
struct TokenFlops {
  double dense = 0;
  double attention = 0;
};
TokenFlops training_flops_per_token(const ModelSpec& model, std::int64_t sequence_length);

/// Matmul FLOPs of one token in the layers' products out of the latents, forward; 0 without latent attention.
double latent_up_flops_per_token(const ModelSpec& model);

}  // namespace strategies
