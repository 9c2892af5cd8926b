#include "strategies/layer_split.h"

#include <cstddef>

namespace strategies {

std::vector<int> split_layers(int layers, const PlanSpec& plan) {
  if (!plan.layers_per_stage.empty()) return plan.layers_per_stage;
  const int virtual_stages = plan.pipeline * plan.chunks;
  const bool counted = plan.count_embedding_and_loss && virtual_stages > 1;
  const int places = layers + (counted ? 2 : 0);
  std::vector<int> split(static_cast<std::size_t>(virtual_stages), places / virtual_stages);
  const int remainder = places % virtual_stages;
  for (int i = 0; i < remainder; ++i) {
    // 1, 2, ..., and the first stage last of all.
    split[static_cast<std::size_t>((i + 1) % virtual_stages)] += 1;
  }
  if (counted) {
    split.front() -= 1;
    split.back() -= 1;
  }
  return split;
}

std::vector<int> balanced_split(const ModelSpec& model, const PlanSpec& plan) {
  if (!plan.layers_per_stage.empty() || plan.chunks > 1) return split_layers(model.layers, plan);
  const double hidden = static_cast<double>(model.hidden);
  const double attention = 4 * static_cast<double>(model.heads * model.head_dim) * hidden;
  const double layer = attention + (model.gated_mlp ? 3 : 2) * static_cast<double>(model.ffn) * hidden;
  const double total = model.layers * layer + static_cast<double>(model.vocabulary) * hidden;
  std::vector<int> split(static_cast<std::size_t>(plan.pipeline), 0);
  std::size_t stage = 0;
  for (int i = 1; i <= model.layers; ++i) {
    split[stage] += 1;
    const double share = static_cast<double>(stage + 1) / plan.pipeline;
    // At equality the stage is full too: the published 1B runs of two and four stages hold that many weights.
    if (i * layer >= total * share && stage + 1 < split.size()) ++stage;
  }
  return split;
}

bool split_is_uneven(int layers, const PlanSpec& plan) {
  if (!plan.layers_per_stage.empty()) return false;
  const int virtual_stages = plan.pipeline * plan.chunks;
  const bool counted = plan.count_embedding_and_loss && virtual_stages > 1;
  return (layers + (counted ? 2 : 0)) % virtual_stages != 0;
}

}  // namespace strategies
