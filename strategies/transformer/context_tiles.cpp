#include "strategies/transformer/context_tiles.h"

#include "strategies/transformer/layer_parts.h"

namespace strategies {
namespace {

hw_models::Attention tile(const Stage& stage, bool backward, std::int64_t queries, std::int64_t keys, bool causal,
                          std::int64_t window = 0) {
  hw_models::Attention kernel = attention_kernel(stage, backward, window);
  kernel.query_length = queries;
  kernel.key_length = keys;
  kernel.causal = causal;
  return kernel;
}

}  // namespace

std::vector<std::optional<hw_models::Attention>> ring_tiles(const Stage& stage, bool backward) {
  const std::int64_t own = stage.shapes.sequence;
  const bool balanced = stage.implementation.balanced_context;
  std::vector<std::optional<hw_models::Attention>> tiles{tile(stage, backward, own, own, true)};
  for (int distance = 1; distance < stage.plan.context; ++distance) {
    const bool later = !balanced && distance > stage.context_rank;
    tiles.push_back(later ? std::nullopt : std::optional(tile(stage, backward, own, balanced ? own / 2 : own, false)));
  }
  return tiles;
}

std::vector<hw_models::Attention> gathered_tiles(const Stage& stage, bool backward, std::int64_t window) {
  const std::int64_t own = stage.shapes.sequence;
  if (!stage.implementation.balanced_context) {
    return {tile(stage, backward, own, own * (stage.context_rank + 1), true, window)};
  }
  const std::int64_t context = stage.plan.context, piece = own / 2;
  return {tile(stage, backward, piece, piece * context, true, window),
          tile(stage, backward, piece, piece * (context + 1), true, window)};
}

hw_models::Attention head_tile(const Stage& stage, bool backward, std::int64_t window) {
  const std::int64_t context = stage.plan.context;
  const std::int64_t whole = stage.shapes.sequence * context;
  hw_models::Attention kernel = tile(stage, backward, whole, whole, true, window);
  kernel.heads /= context;
  kernel.kv_heads /= context;
  return kernel;
}

bool context_ranks_differ(const PlanSpec& plan, const Implementation& implementation) {
  const ContextExchange exchange = plan.context_exchange.value_or(implementation.context_exchange);
  return plan.context > 1 && !implementation.balanced_context && exchange != ContextExchange::kAllToAll;
}

}  // namespace strategies
