// What a Hugging Face `model_type` implies without saying so in its config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "strategies/model.h"

namespace scenarios {

/// How the keys of a mixture of experts are named and what they mean.
enum class ExpertKeys : std::uint8_t { kNone, kMixtral, kQwen, kDeepSeek, kLlama4 };

/// Which layers obey `sliding_window` when `layer_types` does not say it.
enum class WindowRule : std::uint8_t { kNone, kAll, kAllButEvery, kAsked };

/// Which rule gives the number of key/value heads when no key says it.
enum class KeyValueRule : std::uint8_t { kAllHeads, kMultiQuery, kFalcon };

struct HfFamily {
  std::string_view model_type;
  bool gated_mlp = true;
  strategies::Activation activation = strategies::Activation::kSilu;  ///< unless a key says otherwise
  hw_models::NormKind norm = hw_models::NormKind::kRmsNorm;
  int norms_per_layer = 2;
  strategies::PositionKind position = strategies::PositionKind::kRotary;
  bool tied_embeddings = false;  ///< unless tie_word_embeddings says otherwise
  bool parallel_block = false, embedding_norm = false, query_key_norm = false, query_key_norm_full = false;
  bool qkv_bias = false, attention_output_bias = false, mlp_bias = false, head_bias = false;
  bool bias_keys = true;           ///< attention_bias, mlp_bias, ... are obeyed
  std::int64_t head_dim = 0;       ///< unless a key says otherwise; 0 = hidden / heads
  std::int64_t pad_positions = 0;  ///< extra rows of the position table (OPT)
  KeyValueRule kv_heads = KeyValueRule::kAllHeads;
  ExpertKeys experts = ExpertKeys::kNone;
  bool latent = false;                    ///< multi-head latent attention
  WindowRule window = WindowRule::kNone;  ///< kAsked: use_sliding_window, from max_window_layers on
  int full_every = 0;                     ///< kAllButEvery, unless sliding_window_pattern says otherwise
  bool attention_sinks = false;           ///< gpt-oss, which also has biases in experts and router
};

/// The family of a `model_type`, a "..._text" variant of it, or a class name ("transformers.Qwen2Config",
/// "LlamaForCausalLM"); nullopt when unknown.
std::optional<HfFamily> find_hf_family(std::string_view model_type);

/// Why models of this `model_type` cannot be expressed, as the rest of "... is not supported"; empty when not listed.
std::string_view unsupported_hf_family(std::string_view model_type);

}  // namespace scenarios
