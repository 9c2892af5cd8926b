#include "strategies/transformer/parameters.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "strategies/transformer/block_writer.h"

namespace strategies {
namespace {

std::int64_t bytes_of(std::int64_t elements, hw_models::DType dtype) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(elements) * hw_models::info(dtype).bytes));
}

}  // namespace

std::string layer_parameter(int layer, const char* part) { return "layers." + std::to_string(layer) + "." + part; }

void StageParameters::add(const std::string& name, const std::vector<std::int64_t>& shape, int sharded_axis, int layer,
                          int chunk, bool tied_copy) {
  TensorSlice slice{.parameter = name, .shape = shape, .sharded_axis = sharded_axis};
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  if (sharded_axis >= 0) {
    elements /= plan_.tensor;
    slice.end = shape[static_cast<std::size_t>(sharded_axis)] / plan_.tensor;
  }
  Parameter parameter;
  parameter.name = name;
  parameter.layer = layer;
  parameter.chunk = chunk;
  parameter.elements = elements;
  parameter.tensor_replicated = sharded_axis < 0;
  parameter.tied_copy = tied_copy;
  parameter.weight =
      add_buffer(role_, name, bytes_of(elements, shapes_.activation), Holds::kWeights, Lifetime::kStatic, slice);
  parameter.gradient = add_buffer(role_, "gradient:" + name, bytes_of(elements, implementation_.gradient),
                                  Holds::kGradients, Lifetime::kStatic, std::move(slice));
  index_.emplace(name, parameters_.size());
  parameters_.push_back(std::move(parameter));
}

void StageParameters::add_embedding(const ModelSpec& model) {
  add("embedding.weight", {shapes_.padded_vocabulary, model.hidden}, 0, -1, 0);
  if (model.position == PositionKind::kLearned) {
    add("embedding.position", {model.max_positions, model.hidden}, -1, -1, 0);
  }
  if (model.embedding_norm) add("embedding.norm.weight", {model.hidden * 2}, -1, -1, 0);
}

void StageParameters::add_layer(const ModelSpec& model, int layer, int chunk) {
  const std::int64_t h = model.hidden;
  const std::int64_t norm_columns = model.norm == hw_models::NormKind::kLayerNorm ? 2 * h : h;  // gain and bias
  const std::int64_t tensor = plan_.tensor;
  const auto part = [&](const char* name) { return layer_parameter(layer, name); };
  add(part("attention.norm"), {norm_columns}, -1, layer, chunk);
  add(part("attention.qkv.weight"), {shapes_.qkv * tensor, h}, 0, layer, chunk);
  if (model.qkv_bias) add(part("attention.qkv.bias"), {shapes_.qkv * tensor}, 0, layer, chunk);
  if (model.query_key_norm) add(part("attention.query_key_norm"), {2 * model.head_dim}, -1, layer, chunk);
  if (model.query_key_norm_full) {
    add(part("attention.query_key_norm"), {(model.heads + model.kv_heads) * model.head_dim}, -1, layer, chunk);
  }
  add(part("attention.output.weight"), {h, shapes_.query * tensor}, 1, layer, chunk);
  if (model.attention_output_bias) add(part("attention.output.bias"), {h}, -1, layer, chunk);
  if (model.norms_per_layer >= 4) add(part("attention.post_norm"), {norm_columns}, -1, layer, chunk);
  if (model.norms_per_layer >= 2) add(part("mlp.norm"), {norm_columns}, -1, layer, chunk);
  add(part("mlp.up.weight"), {shapes_.up * tensor, h}, 0, layer, chunk);
  if (model.mlp_bias) add(part("mlp.up.bias"), {shapes_.up * tensor}, 0, layer, chunk);
  add(part("mlp.down.weight"), {h, shapes_.ffn * tensor}, 1, layer, chunk);
  if (model.mlp_bias) add(part("mlp.down.bias"), {h}, -1, layer, chunk);
  if (model.norms_per_layer >= 4) add(part("mlp.post_norm"), {norm_columns}, -1, layer, chunk);
}

void StageParameters::add_head(const ModelSpec& model, int chunk, bool tied_copy, bool shared) {
  const std::int64_t norm_columns = model.norm == hw_models::NormKind::kLayerNorm ? 2 * model.hidden : model.hidden;
  add("final_norm", {norm_columns}, -1, -1, chunk);
  if (!shared) add("head.weight", {shapes_.padded_vocabulary, model.hidden}, 0, -1, chunk, tied_copy);
  if (model.head_bias) add("head.bias", {shapes_.padded_vocabulary}, 0, -1, chunk);
}

std::int64_t StageParameters::elements() const {
  std::int64_t sum = 0;
  for (const Parameter& parameter : parameters_) sum += parameter.elements;
  return sum;
}

std::int64_t StageParameters::updated_elements() const {
  const std::int64_t shards = plan_.zero >= 1 ? plan_.data * plan_.context : 1;
  return (elements() + shards - 1) / shards;
}

void StageParameters::add_optimizer_state() {
  // AdamW: momentum and variance in fp32, and an fp32 master copy unless the weights are fp32 themselves.
  const bool master = implementation_.master_weights && shapes_.activation != hw_models::DType::kFp32;
  if (implementation_.separate_buckets && plan_.zero == 0 && plan_.data * plan_.context > 1) {
    add_buffer(role_, "buckets", bytes_of(elements(), shapes_.activation), Holds::kGradients, Lifetime::kStatic);
  }
  optimizer_state_ =
      add_buffer(role_, "optimizer", updated_elements() * (master ? 12 : 8), Holds::kOptimizerState, Lifetime::kStatic);
}

bool StageParameters::contains(const std::string& name) const { return index_.contains(name); }

const Parameter& StageParameters::find(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) throw std::logic_error("no parameter " + name);
  return parameters_[found->second];
}

}  // namespace strategies
