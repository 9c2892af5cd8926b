#include "strategies/transformer/shapes.h"

#include <algorithm>
#include <cmath>

namespace strategies {
namespace {

// Narrow formats are formats of matrix products only: what is stored between them stays bf16.
hw_models::DType stored(hw_models::DType precision) {
  using hw_models::DType;
  if (hw_models::is_narrow(precision)) return DType::kBf16;
  return precision == DType::kTf32 ? DType::kFp32 : precision;
}

std::int64_t loaded(std::int64_t rows, double load) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(rows) * load));
}

ExpertShapes expert_shapes(const ModelSpec& model, const PlanSpec& plan, const RankLoads& loads, bool busiest,
                           std::int64_t tokens) {
  const ExpertSpec& spec = *model.experts;
  const std::int64_t matrices = model.gated_mlp ? 2 : 1;
  ExpertShapes s;
  s.experts = spec.experts;
  s.local = s.experts / plan.expert;
  s.per_token = spec.per_token;
  s.ffn = spec.ffn / plan.tensor_of_experts();
  s.up = matrices * s.ffn;
  s.shared_ffn = spec.shared_ffn / plan.tensor;
  s.shared_up = matrices * s.shared_ffn;
  s.routed = tokens * s.per_token;
  s.counted = spec.capacity_factor == 0;
  if (!s.counted) {
    const double share = static_cast<double>(s.routed) / static_cast<double>(s.experts);
    s.routed = s.experts * static_cast<std::int64_t>(std::ceil(share * spec.capacity_factor));
  }
  s.received = loads.even() ? s.routed : loaded(s.routed, busiest ? loads.busiest : loads.others);
  if (!loads.even()) {
    s.received_by.assign(static_cast<std::size_t>(plan.expert), loaded(s.routed, loads.others));
    s.received_by[static_cast<std::size_t>(loads.busiest_rank)] = loaded(s.routed, loads.busiest);
  }
  s.rows = s.received * plan.tensor_of_experts();
  return s;
}

}  // namespace

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

RankLoads expert_loads(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan) {
  if (!model.experts || model.experts->capacity_factor > 0) return {};
  return rank_loads(training.routing, model.experts->experts, model.experts->per_token, plan.expert);
}

Shapes shapes_of(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                 const Implementation& implementation, bool busiest) {
  const std::int64_t tensor = plan.tensor;
  Shapes s;
  s.batch = plan.micro_batch;
  s.sequence = training.sequence_length / plan.context;
  s.tokens = s.batch * s.sequence;
  s.tokens_between = plan.sequence_parallel ? s.tokens / tensor : s.tokens;
  s.hidden = model.hidden;
  s.heads = model.heads / tensor;
  // Fewer key-value heads than tensor ranks: each rank holds a copy of the one it needs.
  s.kv_heads = std::max<std::int64_t>(1, model.kv_heads / tensor);
  s.head_dim = model.head_dim;
  s.query = s.heads * s.head_dim;
  s.value_dim = model.latent ? model.latent->value_dim : model.head_dim;
  s.qkv = s.query + s.kv_heads * (s.head_dim + s.value_dim);
  s.attended = s.heads * s.value_dim;
  s.ffn = model.ffn / tensor;
  s.up = model.gated_mlp ? 2 * s.ffn : s.ffn;
  const std::int64_t multiple = std::max<std::int64_t>(1, implementation.vocabulary_multiple) * tensor;
  s.padded_vocabulary = round_up(model.vocabulary, multiple);
  s.vocabulary = s.padded_vocabulary / tensor;
  s.activation = stored(training.precision);
  s.narrow = narrow_format(training, implementation);
  // Whole weights do not outlive the step, and neither do narrow copies of them.
  if (plan.shards_weights()) s.narrow.use.weights = NarrowWeights::kEachUse;
  s.layers = model.layers;
  if (model.experts) {
    s.expert = expert_shapes(model, plan, expert_loads(model, training, plan), busiest, s.tokens_between);
  }
  s.activation_bytes = static_cast<std::int64_t>(hw_models::info(s.activation).bytes);
  return s;
}

}  // namespace strategies
