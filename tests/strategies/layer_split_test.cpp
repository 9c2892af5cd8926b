#include "strategies/layer_split.h"

#include <gtest/gtest.h>

#include <numeric>

namespace strategies {
namespace {

PlanSpec plan(int pipeline, int chunks = 1, bool counted = false) {
  PlanSpec spec;
  spec.pipeline = pipeline;
  spec.chunks = chunks;
  spec.count_embedding_and_loss = counted;
  return spec;
}

TEST(LayerSplit, EvenWhenItDivides) {
  EXPECT_EQ(split_layers(12, plan(4)), (std::vector<int>{3, 3, 3, 3}));
  EXPECT_FALSE(split_is_uneven(12, plan(4)));
}

TEST(LayerSplit, RemainderGoesAfterTheFirstStageAndReachesTheLastLate) {
  EXPECT_EQ(split_layers(13, plan(4)), (std::vector<int>{3, 4, 3, 3}));
  // Llama-3 405B on 16 stages: the first and the last stage are the light ones (arXiv:2407.21783, section 3.3.2).
  EXPECT_EQ(split_layers(126, plan(16)), (std::vector<int>{7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7}));
  EXPECT_TRUE(split_is_uneven(126, plan(16)));
}

/// Llama-3.2 1B: a layer holds 4 x 2048^2 + 3 x 2048 x 8192 weights, the head of 131,072 tokens as much as four layers.
TEST(LayerSplit, BalancedByMatricesWithTheHead) {
  ModelSpec model;
  model.layers = 16;
  model.hidden = 2048;
  model.heads = 32;
  model.kv_heads = 8;
  model.head_dim = 64;
  model.ffn = 8192;
  model.vocabulary = 131'072;
  EXPECT_EQ(balanced_split(model, plan(1)), (std::vector<int>{16}));
  EXPECT_EQ(balanced_split(model, plan(2)), (std::vector<int>{10, 6}));
  EXPECT_EQ(balanced_split(model, plan(4)), (std::vector<int>{5, 5, 5, 1}));
  model.vocabulary = 0;
  EXPECT_EQ(balanced_split(model, plan(4)), (std::vector<int>{4, 4, 4, 4}));
  PlanSpec own = plan(2);
  own.layers_per_stage = {9, 7};
  EXPECT_EQ(balanced_split(model, own), own.layers_per_stage);
}

TEST(LayerSplit, EmbeddingAndLossTakeALayersPlace) {
  EXPECT_EQ(split_layers(30, plan(4, 1, true)), (std::vector<int>{7, 8, 8, 7}));
  EXPECT_FALSE(split_is_uneven(30, plan(4, 1, true)));
  EXPECT_EQ(split_layers(8, plan(1, 1, true)), (std::vector<int>{8}));
}

TEST(LayerSplit, OwnSplitIsTaken) {
  PlanSpec own = plan(2);
  own.layers_per_stage = {5, 3};
  EXPECT_EQ(split_layers(8, own), (std::vector<int>{5, 3}));
  EXPECT_FALSE(split_is_uneven(8, own));
}

TEST(LayerSplit, AlwaysAddsUp) {
  for (int layers = 1; layers <= 40; ++layers) {
    for (const int stages : {1, 2, 3, 5, 8}) {
      for (const bool counted : {false, true}) {
        if (layers < stages) continue;
        const std::vector<int> split = split_layers(layers, plan(stages, 1, counted));
        EXPECT_EQ(std::accumulate(split.begin(), split.end(), 0), layers) << layers << " over " << stages;
        for (const int count : split) EXPECT_GE(count, 0);
      }
    }
  }
}

}  // namespace
}  // namespace strategies
