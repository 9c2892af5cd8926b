#include "scenarios/load/hf_families.h"

#include <utility>

namespace scenarios {
namespace {

using hw_models::NormKind;
using strategies::Activation;
using strategies::PositionKind;

/// GPT-2 and its descendants: LayerNorm, two matrices with GELU, biases everywhere, shared embeddings.
constexpr HfFamily gpt_style(std::string_view model_type, PositionKind position, bool tied) {
  HfFamily family;
  family.model_type = model_type;
  family.gated_mlp = false;
  family.activation = Activation::kGelu;
  family.norm = NormKind::kLayerNorm;
  family.position = position;
  family.tied_embeddings = tied;
  family.qkv_bias = family.attention_output_bias = family.mlp_bias = true;
  return family;
}

constexpr HfFamily bloom() {
  HfFamily family = gpt_style("bloom", PositionKind::kAlibi, true);
  family.embedding_norm = true;
  return family;
}

constexpr HfFamily gpt_neox() {
  HfFamily family = gpt_style("gpt_neox", PositionKind::kRotary, false);
  family.parallel_block = true;  // use_parallel_residual defaults to true; both norms exist
  return family;
}

constexpr HfFamily opt() {
  HfFamily family = gpt_style("opt", PositionKind::kLearned, true);
  family.activation = Activation::kRelu;
  family.pad_positions = 2;
  return family;
}

constexpr HfFamily gpt_bigcode() {
  HfFamily family = gpt_style("gpt_bigcode", PositionKind::kLearned, true);
  family.kv_heads = KeyValueRule::kMultiQuery;
  return family;
}

/// GPT-J and Phi-1/2: attention and MLP read one shared norm, and the LM head has a bias.
constexpr HfFamily parallel_gpt(std::string_view model_type, bool attention_bias) {
  HfFamily family = gpt_style(model_type, PositionKind::kRotary, false);
  family.norms_per_layer = 1;
  family.parallel_block = true;
  family.qkv_bias = family.attention_output_bias = attention_bias;
  family.head_bias = true;
  return family;
}

constexpr HfFamily falcon(std::string_view model_type) {
  HfFamily family = gpt_style(model_type, PositionKind::kRotary, true);
  family.qkv_bias = family.attention_output_bias = family.mlp_bias = false;
  family.kv_heads = KeyValueRule::kFalcon;
  return family;
}

/// Nemotron-3/4: LayerNorm1p, two matrices with squared ReLU, no biases.
constexpr HfFamily nemotron() {
  HfFamily family = gpt_style("nemotron", PositionKind::kRotary, false);
  family.activation = Activation::kSquaredRelu;
  family.qkv_bias = family.attention_output_bias = family.mlp_bias = false;
  return family;
}

/// Gemma: GeGLU, shared embeddings, head width 256 unless stated; from Gemma 2 on windows in all layers but every n-th.
constexpr HfFamily gemma(std::string_view model_type, int norms_per_layer, bool query_key_norm, int full_every) {
  HfFamily family{.model_type = model_type, .activation = Activation::kGelu};
  family.norms_per_layer = norms_per_layer;
  family.tied_embeddings = true;
  family.query_key_norm = query_key_norm;
  family.head_dim = 256;
  family.full_every = full_every;
  if (full_every > 0) family.window = WindowRule::kAllButEvery;
  return family;
}

constexpr HfFamily qwen(std::string_view model_type, bool qkv_bias, ExpertKeys experts) {
  HfFamily family{.model_type = model_type};
  family.qkv_bias = qkv_bias;
  family.bias_keys = !qkv_bias;  // Qwen2's attention_bias means Q, K and V only, and is always on
  family.query_key_norm = !qkv_bias;
  family.head_dim = qkv_bias ? 0 : 128;
  family.experts = experts;
  family.window = WindowRule::kAsked;
  return family;
}

constexpr HfFamily starcoder2() {
  HfFamily family = gpt_style("starcoder2", PositionKind::kRotary, true);
  family.window = WindowRule::kAll;
  return family;
}

constexpr HfFamily deepseek(std::string_view model_type) {
  return {.model_type = model_type, .experts = ExpertKeys::kDeepSeek, .latent = true};
}

constexpr HfFamily gpt_oss() {
  HfFamily family{.model_type = "gpt_oss"};
  family.head_dim = 64;
  family.experts = ExpertKeys::kMixtral;
  family.window = WindowRule::kAllButEvery;
  family.full_every = 2;
  family.attention_sinks = true;
  return family;
}

// Traits: the modelling code and configuration defaults of the transformers library, by model_type.
constexpr HfFamily kFamilies[] = {
    {.model_type = "llama"},
    {.model_type = "mistral", .window = WindowRule::kAll},
    {.model_type = "mixtral", .experts = ExpertKeys::kMixtral, .window = WindowRule::kAll},
    {.model_type = "llama4", .experts = ExpertKeys::kLlama4},
    {.model_type = "phi3", .window = WindowRule::kAll},
    {.model_type = "olmo2", .query_key_norm_full = true},
    {.model_type = "olmo3", .query_key_norm_full = true, .window = WindowRule::kAllButEvery, .full_every = 4},
    qwen("qwen2", true, ExpertKeys::kNone),
    qwen("qwen2_moe", true, ExpertKeys::kQwen),
    qwen("qwen3", false, ExpertKeys::kNone),
    qwen("qwen3_moe", false, ExpertKeys::kQwen),
    gemma("gemma", 2, false, 0),
    gemma("gemma2", 4, false, 2),
    gemma("gemma3", 4, true, 6),
    deepseek("deepseek_v2"),
    deepseek("deepseek_v3"),
    deepseek("kimi_k2"),
    gpt_oss(),
    gpt_style("gpt2", PositionKind::kLearned, true),
    starcoder2(),
    bloom(),
    gpt_neox(),
    opt(),
    gpt_bigcode(),
    parallel_gpt("gptj", false),
    parallel_gpt("phi", true),
    parallel_gpt("phi-msft", true),
    falcon("falcon"),
    falcon("RefinedWeb"),
    falcon("RefinedWebModel"),
    nemotron(),
};

constexpr std::string_view kStateSpace = "a stack with state-space (Mamba) or recurrent layers";
constexpr std::string_view kLinear = "a stack that interleaves linear attention with full attention";
constexpr std::string_view kEncoderDecoder = "an encoder-decoder model";
constexpr std::string_view kEncoder = "an encoder-only model";
constexpr std::string_view kVision = "a vision model without a language model in it";
constexpr std::string_view kSparse = "sparse attention chosen by an indexer";
constexpr std::string_view kGemma4 = "attention of two head widths in one stack, with an MLP beside the experts,";

constexpr std::pair<std::string_view, std::string_view> kUnsupported[] = {
    {"mamba", kStateSpace},
    {"mamba2", kStateSpace},
    {"falcon_mamba", kStateSpace},
    {"nemotron_h", kStateSpace},
    {"jamba", kStateSpace},
    {"zamba", kStateSpace},
    {"zamba2", kStateSpace},
    {"bamba", kStateSpace},
    {"falcon_h1", kStateSpace},
    {"rwkv", kStateSpace},
    {"recurrent_gemma", kStateSpace},
    {"granitemoehybrid", kStateSpace},
    {"qwen3_next", kLinear},
    {"qwen3_5", kLinear},
    {"qwen3_5_moe", kLinear},
    {"kimi_linear", kLinear},
    {"minimax", kLinear},
    {"t5", kEncoderDecoder},
    {"mt5", kEncoderDecoder},
    {"umt5", kEncoderDecoder},
    {"bart", kEncoderDecoder},
    {"mbart", kEncoderDecoder},
    {"pegasus", kEncoderDecoder},
    {"whisper", kEncoderDecoder},
    {"marian", kEncoderDecoder},
    {"t5gemma", kEncoderDecoder},
    {"bert", kEncoder},
    {"roberta", kEncoder},
    {"xlm-roberta", kEncoder},
    {"distilbert", kEncoder},
    {"albert", kEncoder},
    {"electra", kEncoder},
    {"deberta-v2", kEncoder},
    {"modernbert", kEncoder},
    {"vit", kVision},
    {"clip", kVision},
    {"siglip", kVision},
    {"swin", kVision},
    {"dinov2", kVision},
    {"convnext", kVision},
    {"resnet", kVision},
    {"deepseek_v32", kSparse},
    {"gemma4", kGemma4},
};

/// Class names of configurations and models, for files that carry no model_type.
constexpr std::pair<std::string_view, std::string_view> kClassNames[] = {
    {"Llama", "llama"},
    {"Mistral", "mistral"},
    {"Mixtral", "mixtral"},
    {"Llama4", "llama4"},
    {"Phi3", "phi3"},
    {"Olmo2", "olmo2"},
    {"Olmo3", "olmo3"},
    {"Qwen2", "qwen2"},
    {"Qwen2Moe", "qwen2_moe"},
    {"Qwen3", "qwen3"},
    {"Qwen3Moe", "qwen3_moe"},
    {"Gemma", "gemma"},
    {"Gemma2", "gemma2"},
    {"Gemma3", "gemma3"},
    {"DeepseekV2", "deepseek_v2"},
    {"DeepseekV3", "deepseek_v3"},
    {"GptOss", "gpt_oss"},
    {"GPT2LMHead", "gpt2"},
    {"GPT2", "gpt2"},
    {"Starcoder2", "starcoder2"},
    {"Bloom", "bloom"},
    {"GPTNeoX", "gpt_neox"},
    {"OPT", "opt"},
    {"GPTBigCode", "gpt_bigcode"},
    {"GPTJ", "gptj"},
    {"Phi", "phi"},
    {"Falcon", "falcon"},
    {"Nemotron", "nemotron"},
};

/// "transformers.Qwen2Config", "LlamaForCausalLM", "GPT2LMHeadModel" -> "Qwen2", "Llama", "GPT2LMHead".
std::string_view bare_class(std::string_view name) {
  if (const auto dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  for (const std::string_view suffix : {"TextConfig", "Config", "ForCausalLM", "ForConditionalGeneration", "Model"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

/// "gemma3_text" -> "gemma3"; class names -> their model_type.
std::string_view canonical(std::string_view model_type) {
  if (model_type.ends_with("_text")) model_type.remove_suffix(5);
  const std::string_view bare = bare_class(model_type);
  for (const auto& [class_name, type] : kClassNames) {
    if (bare == class_name) return type;
  }
  return model_type;
}

}  // namespace

std::optional<HfFamily> find_hf_family(std::string_view model_type) {
  const std::string_view type = canonical(model_type);
  for (const HfFamily& family : kFamilies) {
    if (family.model_type == type) return family;
  }
  return std::nullopt;
}

std::string_view unsupported_hf_family(std::string_view model_type) {
  const std::string_view type = canonical(model_type);
  for (const auto& [name, reason] : kUnsupported) {
    if (name == type) return reason;
  }
  return {};
}

}  // namespace scenarios
