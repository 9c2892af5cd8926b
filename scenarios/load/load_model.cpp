#include "scenarios/load/load_catalog.h"

#include <string>
#include <utility>
#include <vector>

#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/model_limits.h"

namespace scenarios {
namespace {

using hw_models::NormKind;
using strategies::Activation;
using strategies::ExpertSpec;
using strategies::LatentAttention;
using strategies::ModelSpec;
using strategies::PositionKind;

struct Mlp {
  bool gated = true;
  Activation activation = Activation::kSilu;
};

/// A required integer; 0 after a finding.
std::int64_t required(MapReader& reader, std::string_view key, std::int64_t maximum, const std::string& advice) {
  if (!reader.has(key)) reader.missing(key, advice);
  return reader.integer(key, 1, maximum).value_or(0);
}

void read_mlp(MapReader& reader, ModelSpec& model) {
  const std::vector<std::pair<std::string, Mlp>> words = {{"swiglu", {true, Activation::kSilu}},
                                                          {"geglu", {true, Activation::kGelu}},
                                                          {"gelu", {false, Activation::kGelu}},
                                                          {"squared-relu", {false, Activation::kSquaredRelu}},
                                                          {"relu", {false, Activation::kRelu}}};
  const Mlp mlp = reader.one_of("mlp", words).value_or(Mlp{});
  model.gated_mlp = mlp.gated;
  model.activation = mlp.activation;
  model.ffn = reader.integer("ffn", 1, kWidestMlp).value_or(0);
}

void read_embeddings(MapReader& reader, ModelSpec& model) {
  model.vocabulary = required(reader, "vocabulary", kLargestVocabulary, "rows of the embedding table, e.g. 32000");
  model.tied_embeddings = reader.boolean("tied_embeddings").value_or(false);
  const std::vector<std::pair<std::string, PositionKind>> words = {{"rotary", PositionKind::kRotary},
                                                                   {"learned", PositionKind::kLearned},
                                                                   {"alibi", PositionKind::kAlibi},
                                                                   {"none", PositionKind::kNone}};
  model.position = reader.one_of("position", words).value_or(PositionKind::kRotary);
  model.max_positions = reader.integer("max_positions", 1, kMostPositions).value_or(0);
}

void read_norms(MapReader& reader, ModelSpec& model) {
  const std::vector<std::pair<std::string, NormKind>> kinds = {{"rmsnorm", NormKind::kRmsNorm},
                                                               {"layernorm", NormKind::kLayerNorm}};
  model.norm = reader.one_of("norm", kinds).value_or(NormKind::kRmsNorm);
  model.norms_per_layer = static_cast<int>(reader.integer("norms_per_layer", 1, 4).value_or(2));
  model.embedding_norm = reader.boolean("embedding_norm").value_or(false);
  model.parallel_block = reader.boolean("parallel_block").value_or(false);
  enum class QueryKeyNorm : std::uint8_t { kNone, kPerHead, kFull };
  const std::vector<std::pair<std::string, QueryKeyNorm>> words = {
      {"none", QueryKeyNorm::kNone}, {"per-head", QueryKeyNorm::kPerHead}, {"full", QueryKeyNorm::kFull}};
  const QueryKeyNorm norm = reader.one_of("query_key_norm", words).value_or(QueryKeyNorm::kNone);
  model.query_key_norm = norm == QueryKeyNorm::kPerHead;
  model.query_key_norm_full = norm == QueryKeyNorm::kFull;
}

void read_biases(MapReader& reader, ModelSpec& model) {
  const auto map = reader.value("biases");
  if (!map) return;
  MapReader biases(*map, reader.diagnostics());
  model.qkv_bias = biases.boolean("qkv").value_or(false);
  model.attention_output_bias = biases.boolean("attention_output").value_or(false);
  model.mlp_bias = biases.boolean("mlp").value_or(false);
  model.head_bias = biases.boolean("head").value_or(false);
  model.expert_bias = biases.boolean("experts").value_or(false);
  biases.finish();
}

/// Sizes of the heads, derived where they are not written: kv_heads = heads, head_dim = hidden / heads.
void read_heads(MapReader& reader, ModelSpec& model) {
  model.heads = required(reader, "heads", kMostHeads, "number of attention heads");
  model.kv_heads = reader.integer("kv_heads", 1, kMostHeads).value_or(model.heads);
  model.attention_sinks = reader.boolean("attention_sinks").value_or(false);
  const auto head_dim = reader.integer("head_dim", 1, kWidest);
  if (model.latent) {
    if (head_dim) reader.diagnostics().error(reader.place("head_dim"), "'head_dim' follows from 'latent'", "remove it");
    model.head_dim = model.latent->nope_dim + model.latent->rope_dim;
    return;
  }
  const bool derivable = model.heads > 0 && model.hidden > 0;
  model.head_dim = head_dim.value_or(derivable ? model.hidden / model.heads : 0);
  if (!reader.has("head_dim") && derivable && model.hidden % model.heads != 0) {
    reader.diagnostics().error(
        reader.place("heads"),
        "'heads: " + std::to_string(model.heads) + "' does not divide 'hidden: " + std::to_string(model.hidden) + "'",
        "write head_dim if a head has another width");
  }
}

void read_latent(MapReader& reader, ModelSpec& model) {
  const auto map = reader.value("latent");
  if (!map) return;
  MapReader sizes(*map, reader.diagnostics());
  LatentAttention latent;
  latent.query_rank = sizes.integer("query_rank", 0, kWidest).value_or(0);
  latent.kv_rank = required(sizes, "kv_rank", kWidest, "width of the compressed keys and values");
  latent.rope_dim = sizes.integer("rope_dim", 0, kWidest).value_or(0);
  latent.nope_dim = required(sizes, "nope_dim", kWidest, "width of a head's query without position");
  latent.value_dim = required(sizes, "value_dim", kWidest, "width of a head's value");
  sizes.finish();
  model.latent = latent;
}

void read_window(MapReader& reader, ModelSpec& model) {
  const auto map = reader.value("attention_window");
  if (!map) return;
  MapReader sizes(*map, reader.diagnostics());
  strategies::AttentionWindow window;
  window.tokens = required(sizes, "tokens", kMostPositions, "tokens that a query sees, its own included");
  window.full_every = static_cast<int>(sizes.integer("full_every", 2, kMostLayers).value_or(0));
  sizes.finish();
  model.window = window;
}

void read_experts(MapReader& reader, ModelSpec& model) {
  const auto map = reader.value("experts");
  if (!map) return;
  MapReader sizes(*map, reader.diagnostics());
  ExpertSpec experts;
  experts.experts = static_cast<int>(required(sizes, "count", kMostExperts, "routed experts of one layer"));
  experts.per_token = static_cast<int>(required(sizes, "per_token", kMostExperts, "experts that one token visits"));
  experts.ffn = required(sizes, "ffn", kWidestMlp, "width of one expert");
  experts.shared_ffn = sizes.integer("shared_ffn", 0, kWidestMlp).value_or(0);
  experts.leading_dense_layers = static_cast<int>(sizes.integer("leading_dense_layers", 0, kMostLayers).value_or(0));
  experts.frequency = static_cast<int>(sizes.integer("frequency", 1, kMostLayers).value_or(1));
  experts.shared_gate = sizes.boolean("shared_gate").value_or(false);
  experts.router_bias = sizes.boolean("router_bias").value_or(false);
  constexpr double kLargestCapacity = 1000;
  experts.capacity_factor = sizes.number("capacity_factor", 0, kLargestCapacity).value_or(0);
  sizes.finish();
  model.experts = experts;
}

/// Place of our word for a field: "experts.per_token" stands inside `experts`.
Place place_of(MapReader& reader, const std::string& field) {
  const auto dot = field.find('.');
  const std::string key = field.substr(0, dot);
  if (dot == std::string::npos || !reader.has(key)) return reader.place(key);
  const auto map = reader.value(key);
  if (!map) return reader.place();
  for (const Value::Entry& entry : map->entries()) {
    if (entry.key == field.substr(dot + 1)) return entry.value.place();
  }
  return map->place();
}

}  // namespace

std::optional<ModelSpec> load_model(const Value& map, const std::string& name, Diagnostics& diagnostics) {
  const std::size_t errors_before = error_count(diagnostics);
  MapReader reader(map, diagnostics);
  if (map.kind() != Value::Kind::kMap) return std::nullopt;
  ModelSpec model;
  model.name = read_notes(reader, name).name;
  model.layers = static_cast<int>(required(reader, "layers", kMostLayers, "number of transformer layers"));
  model.hidden = required(reader, "hidden", kWidest, "width of the residual stream");
  read_latent(reader, model);
  read_window(reader, model);
  read_heads(reader, model);
  read_mlp(reader, model);
  read_embeddings(reader, model);
  read_norms(reader, model);
  read_biases(reader, model);
  read_experts(reader, model);
  if (!reader.has("ffn") && !model.experts) reader.missing("ffn", "width of the MLP, e.g. 4 x hidden");
  model.extra_prediction_layers = static_cast<int>(reader.integer("extra_prediction_layers", 0, 100).value_or(0));
  reader.finish();
  if (error_count(diagnostics) > errors_before) return std::nullopt;
  for (const strategies::ModelDefect& defect : strategies::check_model(model)) {
    diagnostics.error(place_of(reader, defect.field), defect.message, defect.advice);
  }
  return error_count(diagnostics) > errors_before ? std::nullopt : std::optional(model);
}

}  // namespace scenarios
