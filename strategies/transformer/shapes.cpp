#include "strategies/transformer/shapes.h"

#include <algorithm>

namespace strategies {
namespace {

// Narrow formats are formats of matrix products only: what is stored between them stays bf16.
hw_models::DType stored(hw_models::DType precision) {
  using hw_models::DType;
  if (hw_models::is_narrow(precision)) return DType::kBf16;
  return precision == DType::kTf32 ? DType::kFp32 : precision;
}

}  // namespace

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

Shapes shapes_of(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                 const Implementation& implementation) {
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
  s.activation_bytes = static_cast<std::int64_t>(hw_models::info(s.activation).bytes);
  return s;
}

}  // namespace strategies
