#include "strategies/transformer/parameters.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "strategies/transformer/block_writer.h"

namespace strategies {
namespace {

/// Gain and, of LayerNorm, bias.
std::int64_t norm_elements(const ModelSpec& model) {
  return model.norm == hw_models::NormKind::kLayerNorm ? 2 * model.hidden : model.hidden;
}

}  // namespace

std::string layer_parameter(int layer, const char* part) { return "layers." + std::to_string(layer) + "." + part; }

Parameter& StageParameters::add(const std::string& name, const std::vector<std::int64_t>& shape, const Place& place) {
  TensorSlice slice{.parameter = name, .shape = shape, .sharded_axis = place.sharded_axis, .parts = place.parts};
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  const int ranks = place.expert ? plan_.tensor_of_experts() : plan_.tensor;
  if (place.sharded_axis >= 0) {
    elements /= ranks;
    slice.end = shape[static_cast<std::size_t>(place.sharded_axis)] / ranks;
  }
  if (place.expert) {
    elements /= plan_.expert;
    slice.expert_ranks = plan_.expert;
  }
  Parameter parameter;
  parameter.name = name;
  parameter.layer = place.layer;
  parameter.chunk = place.chunk;
  parameter.elements = elements;
  parameter.rows = place.expert ? shape.front() / plan_.expert : shape.front();
  if (place.sharded_axis == 0) parameter.rows /= ranks;
  parameter.tensor_replicated = place.sharded_axis < 0 && !place.expert;
  parameter.expert = place.expert;
  parameter.narrow = shape.size() >= 2 && !place.wide && shapes_.narrows(place.layer);
  add_buffers(parameter, slice);
  index_.emplace(name, parameters_.size());
  parameters_.push_back(std::move(parameter));
  return parameters_.back();
}

void StageParameters::add_buffers(Parameter& parameter, const TensorSlice& slice) {
  const auto add = [&](const std::string& prefix, std::int64_t elements, hw_models::DType dtype, Holds holds,
                       Lifetime lifetime, int pieces = 1) {
    TensorSlice held = slice;
    held.pieces = pieces;
    return add_buffer(role_, prefix + parameter.name, storage_bytes(elements, dtype), holds, lifetime, std::move(held));
  };
  const bool passing = plan_.shards_gradients();
  parameter.weight = add("", parameter.elements, narrow_alone(parameter) ? shapes_.narrow.dtype : shapes_.activation,
                         Holds::kWeights, weight_lifetime(parameter));
  parameter.gradient = add("gradient:", parameter.elements, passing ? passing_gradient() : implementation_.gradient,
                           Holds::kGradients, passing ? Lifetime::kBlock : Lifetime::kStatic);
  const std::int64_t piece = piece_elements(parameter);
  if (plan_.shards_weights()) {
    parameter.weight_shard = add("shard:", piece, weight_shard(), Holds::kWeights, Lifetime::kStatic, plan_.shards());
  }
  if (passing) {
    parameter.gradient_shard =
        add("gradient-shard:", piece, held_gradient(), Holds::kGradients, Lifetime::kStatic, plan_.shards());
  }
}

/// Whole weights live through the step, from a microbatch's forward to its backward, or within a block. What belongs to
/// no layer is used at both ends of the model: without a pipeline it stays whole in between.
Lifetime StageParameters::weight_lifetime(const Parameter& parameter) const {
  if (!plan_.shards_weights() || plan_.gathers_once()) return Lifetime::kStatic;
  if (plan_.pipeline > 1) return Lifetime::kBlock;
  const bool last = implementation_.keeps_last_layer && parameter.layer == shapes_.layers - 1;
  return parameter.layer < 0 || last || !plan_.reshards() ? Lifetime::kMicrobatch : Lifetime::kBlock;
}

hw_models::DType StageParameters::weight_shard() const {
  const bool wide = plan_.shards_weights() && implementation_.fp32_shards;
  return wide ? hw_models::DType::kFp32 : shapes_.activation;
}

hw_models::DType StageParameters::held_gradient() const {
  const bool wide = plan_.shards_gradients() && weight_shard() == hw_models::DType::kFp32;
  return wide ? hw_models::DType::kFp32 : implementation_.gradient;
}

/// Automatic differentiation makes gradients of the weights' format.
hw_models::DType StageParameters::passing_gradient() const {
  return implementation_.fused_gradient_accumulation ? implementation_.gradient : shapes_.activation;
}

std::int64_t StageParameters::held_gradient_elements(const Parameter& parameter) const {
  return plan_.shards_gradients() ? piece_elements(parameter) : parameter.elements;
}

void StageParameters::add_embedding(const ModelSpec& model) {
  add("embedding.weight", {shapes_.padded_vocabulary, model.hidden}, {.sharded_axis = 0});
  if (model.position == PositionKind::kLearned) add("embedding.position", {model.max_positions, model.hidden}, {});
  if (model.embedding_norm) add("embedding.norm.weight", {model.hidden * 2}, {});
}

/// Down-projections and the norms of the latents are whole on every tensor rank, as in Megatron-Core; what leads from
/// the latents to the heads is split by heads.
void StageParameters::add_latent_attention(const ModelSpec& model, int layer, int chunk) {
  const LatentAttention& latent = *model.latent;
  const std::int64_t h = model.hidden, query = shapes_.query * plan_.tensor;
  const auto part = [&](const char* name) { return layer_parameter(layer, name); };
  const Place whole{.layer = layer, .chunk = chunk};
  const Place rows{.sharded_axis = 0, .layer = layer, .chunk = chunk};
  if (latent.query_rank > 0) {
    add(part("attention.query_down.weight"), {latent.query_rank, h}, whole);
    add(part("attention.query_norm"), {latent.query_rank}, whole);
    add(part("attention.query_up.weight"), {query, latent.query_rank}, rows);
  } else {
    add(part("attention.query.weight"), {query, h}, rows);
  }
  add(part("attention.kv_down.weight"), {latent.kv_rank + latent.rope_dim, h}, whole);
  add(part("attention.kv_norm"), {latent.kv_rank}, whole);
  const std::int64_t keys_and_values = model.heads * (latent.nope_dim + latent.value_dim);
  add(part("attention.kv_up.weight"), {keys_and_values, latent.kv_rank}, rows);
}

void StageParameters::add_attention(const ModelSpec& model, int layer, int chunk) {
  const std::int64_t tensor = plan_.tensor, keys = shapes_.kv_heads * shapes_.head_dim * tensor;
  const auto part = [&](const char* name) { return layer_parameter(layer, name); };
  const Place whole{.layer = layer, .chunk = chunk};
  const Place qkv{.sharded_axis = 0, .layer = layer, .chunk = chunk, .parts = {shapes_.query * tensor, keys, keys}};
  add(part("attention.qkv.weight"), {shapes_.qkv * tensor, model.hidden}, qkv);
  if (model.qkv_bias) add(part("attention.qkv.bias"), {shapes_.qkv * tensor}, qkv);
  if (model.query_key_norm) add(part("attention.query_key_norm"), {2 * model.head_dim}, whole);
  if (model.query_key_norm_full) {
    add(part("attention.query_key_norm"), {(model.heads + model.kv_heads) * model.head_dim}, whole);
  }
}

void StageParameters::add_prediction(const ModelSpec& model, int layer, int chunk) {
  const auto part = [&](const char* name) { return layer_parameter(layer, name); };
  const std::int64_t norm = norm_elements(model);
  const Place whole{.layer = layer, .chunk = chunk};
  add(part("prediction.hidden_norm"), {norm}, whole);
  add(part("prediction.embedding_norm"), {norm}, whole);
  add(part("prediction.projection.weight"), {model.hidden, 2 * model.hidden},
      {.sharded_axis = 0, .layer = layer, .chunk = chunk, .wide = true});
  add_layer(model, layer, chunk);
  add(part("prediction.final_norm"), {norm}, whole);
}

void StageParameters::add_layer(const ModelSpec& model, int layer, int chunk) {
  const std::int64_t h = model.hidden;
  const std::int64_t norm_columns = norm_elements(model);
  const std::int64_t tensor = plan_.tensor;
  const auto part = [&](const char* name) { return layer_parameter(layer, name); };
  const Place whole{.layer = layer, .chunk = chunk};
  const Place rows{.sharded_axis = 0, .layer = layer, .chunk = chunk};
  const Place columns{.sharded_axis = 1, .layer = layer, .chunk = chunk};
  Place up = rows;
  if (model.gated_mlp) up.parts = {shapes_.ffn * tensor, shapes_.ffn * tensor};
  add(part("attention.norm"), {norm_columns}, whole);
  model.latent ? add_latent_attention(model, layer, chunk) : add_attention(model, layer, chunk);
  add(part("attention.output.weight"), {h, shapes_.attended * tensor}, columns);
  if (model.attention_output_bias) add(part("attention.output.bias"), {h}, whole);
  if (model.norms_per_layer >= 4) add(part("attention.post_norm"), {norm_columns}, whole);
  if (model.norms_per_layer >= 2) add(part("mlp.norm"), {norm_columns}, whole);
  if (is_expert_layer(model, layer)) {
    add_experts(model, layer, chunk);
  } else {
    add(part("mlp.up.weight"), {shapes_.up * tensor, h}, up);
    if (model.mlp_bias) add(part("mlp.up.bias"), {shapes_.up * tensor}, up);
    add(part("mlp.down.weight"), {h, shapes_.ffn * tensor}, columns);
    if (model.mlp_bias) add(part("mlp.down.bias"), {h}, whole);
  }
  if (model.norms_per_layer >= 4) add(part("mlp.post_norm"), {norm_columns}, whole);
}

void StageParameters::add_experts(const ModelSpec& model, int layer, int chunk) {
  const ExpertShapes& s = shapes_.expert;
  const std::int64_t h = model.hidden, tensor = plan_.tensor;
  const auto part = [&](const char* name) { return layer_parameter(layer, name); };
  const std::int64_t ffn = s.ffn * plan_.tensor_of_experts(), up = s.up * plan_.tensor_of_experts();
  Place rows{.sharded_axis = 1, .expert = true, .layer = layer, .chunk = chunk};
  if (model.gated_mlp) rows.parts = {ffn, ffn};
  Place bias = rows, shared = rows;
  bias.wide = true;
  const Place columns{.sharded_axis = 2, .expert = true, .layer = layer, .chunk = chunk};
  const Place all{.expert = true, .layer = layer, .chunk = chunk, .wide = true};
  const Place whole{.layer = layer, .chunk = chunk, .wide = true};
  add(part("router.weight"), {s.experts, h}, whole);
  if (model.experts->router_bias) add(part("router.bias"), {s.experts}, whole);
  add(part("experts.up.weight"), {s.experts, up, h}, rows);
  if (model.expert_bias) add(part("experts.up.bias"), {s.experts, up}, bias);
  add(part("experts.down.weight"), {s.experts, h, ffn}, columns);
  if (model.expert_bias) add(part("experts.down.bias"), {s.experts, h}, all);
  if (s.shared_ffn == 0) return;
  const std::int64_t shared_ffn = s.shared_ffn * tensor;
  shared.sharded_axis = 0, shared.expert = false;
  if (model.gated_mlp) shared.parts = {shared_ffn, shared_ffn};
  add(part("shared.up.weight"), {s.shared_up * tensor, h}, shared);
  if (model.expert_bias) {
    shared.wide = true;
    add(part("shared.up.bias"), {s.shared_up * tensor}, shared);
  }
  add(part("shared.down.weight"), {h, shared_ffn}, {.sharded_axis = 1, .layer = layer, .chunk = chunk});
  if (model.expert_bias) add(part("shared.down.bias"), {h}, whole);
  if (model.experts->shared_gate) add(part("shared.gate.weight"), {1, h}, whole);
}

/// Two buffers, one parameter.
void StageParameters::tie_to_embedding(Parameter& table) {
  table.tied_copy = true;
  for (const BufferId held : {table.weight, table.gradient, table.held_weight(), table.held_gradient()}) {
    role_.buffers[held.value].slice.parameter = "embedding.weight";
  }
}

void StageParameters::add_embedding_copy(const ModelSpec& model, int chunk) {
  const Place split{.sharded_axis = 0, .chunk = chunk};
  tie_to_embedding(add("prediction.embedding.weight", {shapes_.padded_vocabulary, model.hidden}, split));
}

void StageParameters::add_head(const ModelSpec& model, int chunk, bool tied_copy, bool shared) {
  const Place split{.sharded_axis = 0, .chunk = chunk};
  add("final_norm", {norm_elements(model)}, {.chunk = chunk});
  if (!shared) {
    Parameter& head = add("head.weight", {shapes_.padded_vocabulary, model.hidden}, split);
    if (tied_copy) tie_to_embedding(head);
  }
  if (model.head_bias) add("head.bias", {shapes_.padded_vocabulary}, split);
}

std::int64_t StageParameters::elements() const {
  std::int64_t sum = 0;
  for (const Parameter& parameter : parameters_) sum += parameter.elements;
  return sum;
}

std::int64_t StageParameters::narrow_elements() const {
  std::int64_t sum = 0;
  for (const Parameter& parameter : parameters_) sum += parameter.narrow ? parameter.elements : 0;
  return sum;
}

void StageParameters::add_narrow_copies() {
  const NarrowFormat& narrow = shapes_.narrow;
  const int held = narrow.use.weights == NarrowWeights::kBeside ? 1 : 0;
  const int copies = narrow.use.weights == NarrowWeights::kEachUse ? 0 : held + (narrow.copies() ? 1 : 0);
  const std::int64_t bytes = narrow.bytes(narrow_elements()) * copies;
  if (bytes > 0) add_buffer(role_, "narrow-weights", bytes, Holds::kWeights, Lifetime::kStatic);
}

std::int64_t StageParameters::padded_elements(const Parameter& parameter) const {
  const std::int64_t count = shards(parameter);
  const bool rows = plan_.shards_weights() && implementation_.shards_rows;
  return rows ? round_up(parameter.rows, count) * (parameter.elements / parameter.rows)
              : round_up(parameter.elements, count);
}

std::int64_t StageParameters::updated_elements() const {
  std::int64_t sum = 0;
  for (const Parameter& parameter : parameters_) sum += piece_elements(parameter);
  return sum;
}

std::int64_t state_bytes(hw_models::OptimizerKind optimizer, bool master) {
  return (optimizer == hw_models::OptimizerKind::kAdamW ? 8 : 0) + (master ? 4 : 0);
}

void StageParameters::add_optimizer_state() {
  const bool master = keeps_master();
  if (implementation_.separate_buckets && plan_.zero == 0 && plan_.replicas() > 1) {
    add_buffer(role_, "buckets", storage_bytes(elements(), shapes_.activation), Holds::kGradients, Lifetime::kStatic);
  }
  optimizer_state_ = add_buffer(role_, "optimizer", updated_elements() * state_bytes(optimizer_, master),
                                Holds::kOptimizerState, Lifetime::kStatic);
}

bool StageParameters::contains(const std::string& name) const { return index_.contains(name); }

const Parameter& StageParameters::find(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) throw std::logic_error("no parameter " + name);
  return parameters_[found->second];
}

}  // namespace strategies
