#include "scenarios/load/hf_config.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "scenarios/load/diagnostics.h"
#include "scenarios/load/hf_families.h"
#include "scenarios/load/hf_reader.h"
#include "scenarios/load/model_limits.h"
#include "scenarios/load/read_file.h"

namespace scenarios {
namespace {

using strategies::Activation;
using strategies::ExpertSpec;
using strategies::LatentAttention;
using strategies::ModelSpec;
using Keys = HfReader::Keys;

constexpr const char* kInlineAdvice = "describe the model in the scenario instead (layers, hidden, heads, ...)";

/// model_type, else what else names the family in files without one.
std::string family_name(HfReader& config) {
  if (const auto type = config.text("model_type")) return *type;
  if (const auto architectures = config.texts("architectures"); !architectures.empty()) return architectures.front();
  return config.text("_class").value_or("");
}

/// Structures recognised by their keys whatever the model_type; the key, and what it stands for.
constexpr std::pair<const char*, const char*> kForeignKeys[] = {
    {"hybrid_override_pattern", "a stack with state-space (Mamba) or recurrent layers"},
    {"ssm_state_size", "a stack with state-space (Mamba) or recurrent layers"},
    {"mamba_d_state", "a stack with state-space (Mamba) or recurrent layers"},
    {"linear_num_key_heads", "a stack that interleaves linear attention with full attention"},
    {"index_topk", "sparse attention chosen by an indexer"},
};

HfFamily family_of(HfReader& config) {
  const std::string name = family_name(config);
  const std::string shown = name.empty() ? "this model" : "'" + name + "'";
  if (config.failed()) config.refuse();
  const auto unsupported = [&](std::string_view reason) {
    config.error("model_type", shown + ": " + std::string(reason) + " is not supported");
    config.refuse();
  };
  if (config.boolean("is_encoder_decoder", false)) unsupported("an encoder-decoder model");
  if (const std::string_view reason = unsupported_hf_family(name); !reason.empty()) unsupported(reason);
  for (const auto& [key, reason] : kForeignKeys) {
    if (config.has(key)) unsupported(reason);
  }
  const char* picture = config.present({"image_size", "patch_size", "num_channels"});
  if (picture != nullptr && !config.has_text_config()) unsupported("a vision model without a language model in it");
  const auto family = find_hf_family(name);
  if (!family) {
    config.error("model_type",
                 name.empty() ? "'model_type' is missing" : "models of type " + shown + " are not supported",
                 kInlineAdvice);
    config.refuse();
  }
  return *family;
}

Activation activation_of(HfReader& config, Activation otherwise) {
  const char* key = config.present({"hidden_activation", "hidden_act", "activation_function", "mlp_hidden_act"});
  if (key == nullptr) return otherwise;
  const auto word = config.text(key);
  if (!word) return otherwise;
  if (*word == "silu" || *word == "swish") return Activation::kSilu;
  if (*word == "relu2") return Activation::kSquaredRelu;
  if (*word == "relu") return Activation::kRelu;
  if (word->starts_with("gelu") || *word == "quick_gelu") return Activation::kGelu;
  config.error(key, "the activation '" + *word + "' is not supported", "silu, gelu, relu or relu2");
  return otherwise;
}

std::int64_t key_value_heads(HfReader& config, const HfFamily& family, std::int64_t heads) {
  const bool falcon = family.kv_heads == KeyValueRule::kFalcon;
  const bool old_falcon = falcon && !config.boolean("new_decoder_architecture", false);
  if (old_falcon || family.kv_heads == KeyValueRule::kMultiQuery) {
    return config.boolean("multi_query", true) ? 1 : heads;
  }
  return config.integer({"num_key_value_heads", "num_kv_heads", "n_head_kv"}, 1, kMostHeads).value_or(heads);
}

void read_attention(HfReader& config, const HfFamily& family, ModelSpec& model) {
  model.heads = config.required({"num_attention_heads", "n_head", "n_heads"}, 1, kMostHeads);
  model.kv_heads = key_value_heads(config, family, model.heads);
  model.query_key_norm = family.query_key_norm;
  model.query_key_norm_full = family.query_key_norm_full;
  model.attention_sinks = family.attention_sinks;
  if (family.latent) return;
  if (const auto head_dim = config.integer({"head_dim"}, 1, kWidest)) {
    model.head_dim = *head_dim;
  } else if (family.head_dim > 0) {
    model.head_dim = family.head_dim;
  } else {
    model.head_dim = std::max<std::int64_t>(1, model.hidden / model.heads);
    if (model.hidden % model.heads != 0 && !config.failed()) {
      config.error(config.present({"num_attention_heads", "n_head", "n_heads"}),
                   std::to_string(model.heads) + " attention heads do not divide the hidden size " +
                       std::to_string(model.hidden),
                   "add 'head_dim' if a head has another width");
    }
  }
}

void read_latent(HfReader& config, ModelSpec& model) {
  LatentAttention latent;
  latent.query_rank = config.integer({"q_lora_rank"}, 0, kWidest).value_or(0);
  latent.kv_rank = config.required({"kv_lora_rank"}, 1, kWidest);
  latent.rope_dim = config.required({"qk_rope_head_dim"}, 0, kWidest);
  latent.nope_dim = config.required({"qk_nope_head_dim"}, 1, kWidest);
  latent.value_dim = config.required({"v_head_dim"}, 1, kWidest);
  model.latent = latent;
  model.head_dim = latent.nope_dim + latent.rope_dim;
}

/// `layer_types`: the layers that see all must be every n-th. 0 = none does; nullopt = all do.
std::optional<int> full_layers(HfReader& config, const std::vector<std::string>& types) {
  const auto full = [&](std::size_t layer) { return types[layer] != "sliding_attention"; };
  std::size_t every = 0;
  while (every < types.size() && !full(every)) ++every;
  if (every == 0) return std::nullopt;
  const bool none = every == types.size();
  every += 1;
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    if (full(layer) == (!none && (layer + 1) % every == 0)) continue;
    config.error("layer_types", "layers of full attention that are not every n-th are not supported", kInlineAdvice);
    break;
  }
  return none ? 0 : static_cast<int>(every);
}

std::optional<int> full_layers(HfReader& config, const HfFamily& family, int layers) {
  if (const auto types = config.texts("layer_types"); !types.empty()) return full_layers(config, types);
  if (family.window != WindowRule::kAsked) {
    return static_cast<int>(config.integer({"sliding_window_pattern"}, 1, kMostLayers).value_or(family.full_every));
  }
  const std::int64_t first = config.integer({"max_window_layers"}, 0, kMostLayers).value_or(layers);
  if (!config.boolean("use_sliding_window", false) || first >= layers) return std::nullopt;
  if (first > 0) config.error("max_window_layers", "windows in the last layers only are not supported", kInlineAdvice);
  return 0;
}

void read_window(HfReader& config, const HfFamily& family, ModelSpec& model) {
  if (family.window == WindowRule::kNone) return;
  const auto tokens = config.integer({"sliding_window", "sliding_window_size"}, 1, kMostPositions);
  const std::optional<int> full_every = tokens ? full_layers(config, family, model.layers) : std::nullopt;
  if (full_every && *full_every != 1) model.window = strategies::AttentionWindow{*tokens, *full_every};
}

void read_biases(HfReader& config, const HfFamily& family, ModelSpec& model) {
  model.qkv_bias = family.qkv_bias;
  model.attention_output_bias = family.attention_output_bias;
  model.mlp_bias = family.mlp_bias;
  model.head_bias = family.head_bias;
  if (!family.bias_keys) return;
  for (const char* all : {"bias", "use_bias", "enable_bias"}) {
    if (!config.has(all)) continue;
    model.qkv_bias = model.attention_output_bias = model.mlp_bias = config.boolean(all, false);
  }
  if (config.has("attention_bias")) {
    model.qkv_bias = model.attention_output_bias = config.boolean("attention_bias", false);
  }
  model.mlp_bias = config.boolean("mlp_bias", model.mlp_bias);
  model.head_bias = config.boolean("lm_head_bias", model.head_bias);
}

/// Falcon's older checkpoints share one norm between attention and MLP; newer ones have one for each.
void read_block(HfReader& config, const HfFamily& family, ModelSpec& model) {
  model.norm = family.norm;
  model.norms_per_layer = family.norms_per_layer;
  model.parallel_block = family.parallel_block;
  model.embedding_norm = family.embedding_norm;
  model.tied_embeddings = family.tied_embeddings;
  if (family.kv_heads == KeyValueRule::kFalcon) {
    const bool new_architecture = config.boolean("new_decoder_architecture", false);
    model.parallel_block = new_architecture || config.boolean("parallel_attn", true);
    model.norms_per_layer = model.parallel_block && !new_architecture ? 1 : 2;
    model.tied_embeddings = !new_architecture;
  }
  model.parallel_block = config.boolean("use_parallel_residual", model.parallel_block);
  model.tied_embeddings = config.boolean("tie_word_embeddings", model.tied_embeddings);
}

void read_positions(HfReader& config, const HfFamily& family, ModelSpec& model) {
  model.position = config.boolean("alibi", false) ? strategies::PositionKind::kAlibi : family.position;
  model.max_positions =
      config.integer({"max_position_embeddings", "n_positions", "n_ctx", "seq_length"}, 1, kMostPositions).value_or(0);
  if (model.position != strategies::PositionKind::kLearned) return;
  if (model.max_positions == 0) {
    model.max_positions = config.required({"max_position_embeddings", "n_positions"}, 1, kMostPositions);
  }
  model.max_positions += family.pad_positions;
}

/// `mlp_only_layers` can be expressed when it lists the first layers only.
int leading_dense_layers(HfReader& config) {
  const auto dense = config.integers("mlp_only_layers");
  for (std::size_t i = 0; i < dense.size(); ++i) {
    if (dense[i] == static_cast<std::int64_t>(i)) continue;
    config.error("mlp_only_layers", "dense layers other than the first ones are not supported among layers of experts");
    return 0;
  }
  return static_cast<int>(std::min<std::size_t>(dense.size(), kMostLayers));
}

void read_qwen_experts(HfReader& config, const HfFamily& family, ExpertSpec& experts) {
  experts.ffn = config.required({"moe_intermediate_size"}, 1, kWidestMlp);
  experts.frequency = static_cast<int>(config.integer({"decoder_sparse_step"}, 1, kMostLayers).value_or(1));
  experts.leading_dense_layers = leading_dense_layers(config);
  if (experts.leading_dense_layers > 0 && experts.frequency > 1) {
    config.error("mlp_only_layers", "'mlp_only_layers' together with 'decoder_sparse_step' is not supported");
  }
  if (family.model_type == "qwen2_moe") {
    experts.shared_ffn = config.required({"shared_expert_intermediate_size"}, 0, kWidestMlp);
    experts.shared_gate = experts.shared_ffn > 0;
  }
}

void read_deepseek_experts(HfReader& config, ExpertSpec& experts) {
  experts.ffn = config.required({"moe_intermediate_size"}, 1, kWidestMlp);
  experts.shared_ffn = experts.ffn * config.integer({"n_shared_experts"}, 0, kMostExperts).value_or(0);
  experts.leading_dense_layers =
      static_cast<int>(config.integer({"first_k_dense_replace"}, 0, kMostLayers).value_or(0));
  if (config.integer({"moe_layer_freq"}, 1, kMostLayers).value_or(1) != 1) {
    config.error("moe_layer_freq", "'moe_layer_freq' other than 1 is not supported");
  }
  experts.router_bias = config.text("topk_method").value_or("") == "noaux_tc";  // learned per-expert correction
}

/// Llama 4: dense layers (intermediate_size_mlp) alternate with layers of experts and one shared expert, both of
/// intermediate_size.
void read_llama4_experts(HfReader& config, ModelSpec& model, ExpertSpec& experts) {
  experts.ffn = experts.shared_ffn = config.required({"intermediate_size"}, 1, kWidestMlp);
  experts.frequency = static_cast<int>(config.integer({"interleave_moe_layer_step"}, 1, kMostLayers).value_or(1));
  model.ffn = config.required({"intermediate_size_mlp"}, 1, kWidestMlp);
}

void read_experts(HfReader& config, const HfFamily& family, ModelSpec& model) {
  if (family.experts == ExpertKeys::kNone) return;
  const Keys count_keys = {"n_routed_experts", "num_local_experts", "num_experts"};
  if (family.experts == ExpertKeys::kDeepSeek && config.present(count_keys) == nullptr) return;  // dense variant
  ExpertSpec experts;
  experts.experts = static_cast<int>(config.required(count_keys, 1, kMostExperts));
  experts.per_token = static_cast<int>(config.required({"num_experts_per_tok", "experts_per_token"}, 1, kMostExperts));
  experts.ffn = model.ffn;
  experts.router_bias = model.expert_bias = family.attention_sinks;
  if (family.experts == ExpertKeys::kQwen) read_qwen_experts(config, family, experts);
  if (family.experts == ExpertKeys::kDeepSeek) read_deepseek_experts(config, experts);
  if (family.experts == ExpertKeys::kLlama4) read_llama4_experts(config, model, experts);
  model.experts = experts;
}

ModelSpec read_model(HfReader& config, const HfFamily& family, const std::string& name) {
  ModelSpec model;
  model.name = name;
  model.layers = static_cast<int>(
      config.required({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, 1, kMostLayers, kInlineAdvice));
  model.hidden = config.required({"hidden_size", "n_embd", "n_embed", "d_model"}, 1, kWidest);
  model.vocabulary = config.required({"vocab_size"}, 1, kLargestVocabulary);
  model.gated_mlp = family.gated_mlp;
  model.activation = activation_of(config, family.activation);
  const Keys ffn_keys = {"intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner"};
  model.ffn = family.gated_mlp ? config.required(ffn_keys, 1, kWidestMlp)
                               : config.integer(ffn_keys, 1, kWidestMlp).value_or(4 * model.hidden);
  read_block(config, family, model);
  read_attention(config, family, model);
  if (family.latent) read_latent(config, model);
  read_biases(config, family, model);
  read_positions(config, family, model);
  read_window(config, family, model);
  read_experts(config, family, model);
  model.extra_prediction_layers =
      static_cast<int>(config.integer({"num_nextn_predict_layers"}, 0, kMostLayers).value_or(0));
  if (config.integer({"word_embed_proj_dim"}, 1, kWidest).value_or(model.hidden) != model.hidden) {
    config.error("word_embed_proj_dim", "an embedding narrower than the hidden size is not supported");
  }
  return model;
}

/// The key of the file that stands for our word of a field.
const char* config_key(const HfReader& config, std::string_view field) {
  if (field == "layers") return config.present({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  if (field == "kv_heads") return config.present({"num_key_value_heads", "num_kv_heads", "n_head_kv"});
  if (field == "latent") return config.present({"attention_bias", "use_bias", "bias"});
  if (field == "experts.per_token") return config.present({"num_experts_per_tok", "experts_per_token"});
  if (field == "experts.leading_dense_layers") return config.present({"first_k_dense_replace", "mlp_only_layers"});
  return nullptr;
}

}  // namespace

ModelSpec import_hf_config(std::string_view json, const std::string& file, const std::string& name) {
  if (json.starts_with("\xEF\xBB\xBF")) json.remove_prefix(3);  // columns count from the first visible character
  Diagnostics diagnostics(file, json);
  HfReader config(json, diagnostics);
  const HfFamily family = family_of(config);
  ModelSpec model = read_model(config, family, name);
  if (config.failed()) config.refuse();
  for (const strategies::ModelDefect& defect : strategies::check_model(model)) {
    const char* key = config_key(config, defect.field);
    config.error(key, (key != nullptr ? "'" + std::string(key) + "': " : "") + defect.message, defect.advice);
  }
  if (config.failed()) config.refuse();
  return model;
}

ModelSpec load_hf_config(const std::filesystem::path& path) {
  std::string name = path.stem().string();
  const std::string folder = path.parent_path().filename().string();
  if (name == "config" && !folder.empty() && folder != "." && folder != "..") name = folder;
  return import_hf_config(read_file(path, kLargestHfConfig), path.string(), name);
}

}  // namespace scenarios
