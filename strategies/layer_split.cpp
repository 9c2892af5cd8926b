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

std::vector<int> split_layers_by_cost(const ModelSpec& model, int stages) {
  const std::int64_t layer = 4 * model.heads * model.head_dim + 3 * model.ffn;  // costs divided by hidden
  const std::int64_t total = layer * model.layers + model.vocabulary;
  std::vector<int> split(static_cast<std::size_t>(stages), 0);
  int stage = 0;
  for (int i = 1; i <= model.layers; ++i) {
    ++split[static_cast<std::size_t>(stage)];
    if (layer * i * stages > total * (stage + 1) && stage + 1 < stages) ++stage;
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
