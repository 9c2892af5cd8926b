#include "strategies/model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace strategies {
namespace {

ModelSpec gpt(int layers, std::int64_t hidden, std::int64_t heads) {
  ModelSpec model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.kv_heads = heads;
  model.head_dim = hidden / heads;
  model.ffn = 4 * hidden;
  model.gated_mlp = false;
  model.activation = Activation::kGelu;
  model.vocabulary = 51200;
  model.tied_embeddings = true;
  model.position = PositionKind::kLearned;
  model.max_positions = 2048;
  model.norm = hw_models::NormKind::kLayerNorm;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  return model;
}

ModelSpec llama() {
  ModelSpec model;
  model.layers = 6;
  model.hidden = 512;
  model.heads = 8;
  model.kv_heads = 2;
  model.head_dim = 64;
  model.ffn = 1024;
  model.vocabulary = 1000;
  return model;
}

ModelSpec with_experts(int leading, int frequency) {
  ModelSpec model = llama();
  model.experts = ExpertSpec{.experts = 16,
                             .per_token = 2,
                             .ffn = 256,
                             .shared_ffn = 128,
                             .leading_dense_layers = leading,
                             .frequency = frequency};
  return model;
}

ModelSpec latent() {
  ModelSpec model = llama();
  model.kv_heads = model.heads;
  model.latent = LatentAttention{.query_rank = 96, .kv_rank = 48, .rope_dim = 16, .nope_dim = 32, .value_dim = 24};
  model.head_dim = 48;
  return model;
}

// Narayanan et al. 2021 (arXiv 2104.04473), Table 1: shapes and, in 1e9, the parameters printed there.
struct TableRow {
  int layers;
  std::int64_t hidden, heads;
  double printed;
};
constexpr TableRow kTable1[] = {{24, 2304, 24, 1.7},      {30, 3072, 32, 3.6},     {36, 4096, 32, 7.5},
                                {40, 6144, 48, 18.4},     {48, 8192, 64, 39.1},    {60, 10240, 80, 76.1},
                                {80, 12288, 96, 145.6},   {96, 16384, 128, 310.1}, {105, 20480, 128, 529.6},
                                {128, 25600, 160, 1008.0}};

TEST(ModelParameters, GptFollowsEquation2OfNarayanan) {
  for (const TableRow& row : kTable1) {
    const ModelSpec model = gpt(row.layers, row.hidden, row.heads);
    const std::int64_t l = row.layers, h = row.hidden;
    // P = 12 l h^2 (1 + 13/(12h) + (V+s)/(12lh)), to which the final norm adds 2h.
    const std::int64_t equation = 12 * l * h * h + 13 * l * h + (model.vocabulary + model.max_positions) * h + 2 * h;
    EXPECT_EQ(count_parameters(model).total, equation) << row.printed;
    EXPECT_EQ(count_parameters(model).active, equation) << row.printed;
    EXPECT_NEAR(static_cast<double>(equation) * 1e-9, row.printed, 0.051) << row.printed;
  }
}

TEST(ModelFlops, GptFollowsEquation3OfNarayananWithoutRecompute) {
  for (const TableRow& row : kTable1) {
    const ModelSpec model = gpt(row.layers, row.hidden, row.heads);
    const double l = row.layers, h = static_cast<double>(row.hidden), vocabulary = 51200;
    for (const double s : {1.0, 2048.0, 131072.0}) {
      const TokenFlops flops = training_flops_per_token(model, static_cast<std::int64_t>(s));
      const double equation = 72 * l * h * h * (1 + s / (6 * h) + vocabulary / (12 * l * h));
      EXPECT_NEAR((flops.dense + flops.attention) / equation, 1, 1e-12) << row.printed << " B at " << s;
      EXPECT_NEAR(flops.attention, 12 * l * h * s, 1e-6 * flops.attention);
    }
  }
}

TEST(ModelFlops, GroupedQueriesSaveProjectionsButNoScores) {
  ModelSpec model = llama();
  // Per layer: Q and O 2 h^2, K and V 2 h 128, MLP 3 h ffn; then the head.
  const double matrices = 6.0 * (2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1024) + 512 * 1000;
  EXPECT_DOUBLE_EQ(training_flops_per_token(model, 128).dense, 6 * matrices);
  const double scores = training_flops_per_token(model, 128).attention;
  model.kv_heads = 8;
  EXPECT_DOUBLE_EQ(training_flops_per_token(model, 128).attention, scores);
  EXPECT_DOUBLE_EQ(training_flops_per_token(model, 128).dense, 6 * (matrices + 6.0 * 2 * 512 * 384));
}

TEST(ModelFlops, OnlyActiveExpertsCount) {
  ModelSpec model = with_experts(0, 1);
  const double attention = 2 * 512 * 512 + 2 * 512 * 128;
  const double experts = 2 * 3 * 512 * 256 + 3 * 512 * 128 + 512 * 16;  // two routed, the shared one, the router
  EXPECT_DOUBLE_EQ(training_flops_per_token(model, 64).dense, 6 * (6 * (attention + experts) + 512 * 1000));
}

TEST(ModelFlops, LatentAttentionHasKeysWiderThanValues) {
  // Per layer Q: 512 x 96 + 96 x 8 x 48; K and V: 512 x (48 + 16) + 48 x 8 x (32 + 24); O: 8 x 24 x 512.
  const double attention = 512 * 96 + 96 * 384 + 512 * 64 + 48 * 448 + 192 * 512;
  const TokenFlops flops = training_flops_per_token(latent(), 100);
  EXPECT_DOUBLE_EQ(flops.dense, 6 * (6 * (attention + 3 * 512 * 1024) + 512 * 1000));
  EXPECT_DOUBLE_EQ(flops.attention, 3.0 * 6 * 2 * 8 * (48 + 24) * 100);
}

TEST(ModelFlops, AWindowCountsTheBandOnBothSides) {
  ModelSpec model = llama();
  model.window = {.tokens = 30, .full_every = 3};
  const double per_key = 3.0 * 2 * 8 * (64 + 64);
  double keys = 0;  // of one query, by its place
  for (int query = 0; query < 100; ++query) {
    for (int key = 0; key < 100; ++key) keys += std::abs(query - key) < 30 ? 1 : 0;
  }
  // The equation has no diagonal of its own: 2 w - w^2 / s for 2 w - 1 - ...; four windowed layers, two full ones.
  const double flops = training_flops_per_token(model, 100).attention;
  EXPECT_DOUBLE_EQ(flops, per_key * (4 * (60 - 9.0) + 2 * 100));
  EXPECT_NEAR(flops / (per_key * (4 * keys / 100 + 2 * 100)), 1, 0.02);
  EXPECT_DOUBLE_EQ(training_flops_per_token(model, 30).attention, per_key * 6 * 30);  // nothing is out of sight
  for (const int layer : {2, 5}) EXPECT_EQ(window_of(model, layer, 100), 0);
  for (const int layer : {0, 1, 3, 4}) EXPECT_EQ(window_of(model, layer, 100), 30);
  model.window->full_every = 0;
  EXPECT_EQ(window_of(model, 5, 100), 30);
}

TEST(ModelFlops, ExtraPredictionLayersAreTrained) {
  ModelSpec model = llama();
  const TokenFlops plain = training_flops_per_token(model, 128);
  model.extra_prediction_layers = 2;
  const TokenFlops more = training_flops_per_token(model, 128);
  const double layer = 2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1024;
  EXPECT_DOUBLE_EQ(more.dense - plain.dense, 2 * 6.0 * (layer + 2 * 512 * 512 + 512 * 1000));  // projection, head
  EXPECT_DOUBLE_EQ(more.attention, plain.attention * 8 / 6);
  EXPECT_EQ(count_parameters(model).total, count_parameters(llama()).total);
  EXPECT_EQ(count_parameters(model).prediction, static_cast<std::int64_t>(2 * (layer + 2 * 512 * 512) + 2 * 5 * 512));
}

/// DeepSeek-V3 (arXiv 2412.19437, section 4.2).
ModelSpec deepseek_v3() {
  ModelSpec model;
  model.layers = 61;
  model.hidden = 7168;
  model.heads = model.kv_heads = 128;
  model.ffn = 18432;
  model.vocabulary = 129280;
  model.latent = LatentAttention{.query_rank = 1536, .kv_rank = 512, .rope_dim = 64, .nope_dim = 128, .value_dim = 128};
  model.head_dim = 192;
  model.experts = ExpertSpec{
      .experts = 256, .per_token = 8, .ffn = 2048, .shared_ffn = 2048, .leading_dense_layers = 3, .router_bias = true};
  model.extra_prediction_layers = 1;
  return model;
}

// Published: 671 B, 685 B with the module for the second token and its copies of embedding and head. Attention of a
// layer: 187,107,328, from the tensors of the published checkpoint.
TEST(ModelParameters, DeepSeekV3AsPublished) {
  const ModelSpec model = deepseek_v3();
  const ParameterCount count = count_parameters(model);
  EXPECT_NEAR(static_cast<double>(count.total) * 1e-9, 671, 0.5);
  const std::int64_t tables = 2 * 129280LL * 7168;
  EXPECT_NEAR(static_cast<double>(count.total + count.prediction + tables) * 1e-9, 685, 0.55);
  EXPECT_EQ(count.dense_layer - 3 * 7168LL * 18432 - 2 * 7168, 187'107'328);
}

TEST(ModelParameters, LatentAttentionByHand) {
  const std::int64_t attention = 512 * 96 + 96 * 384 + 512 * 64 + 48 * 448 + 192 * 512 + 96 + 48;  // and two norms
  const std::int64_t layer = attention + 3 * 512 * 1024 + 2 * 512;
  EXPECT_EQ(count_parameters(latent()).dense_layer, layer);
  EXPECT_EQ(count_parameters(latent()).total, 6 * layer + 2 * 512 * 1000 + 512);
  ModelSpec uncompressed = latent();
  uncompressed.latent->query_rank = 0;
  EXPECT_EQ(count_parameters(latent()).dense_layer - count_parameters(uncompressed).dense_layer,
            512 * 96 + 96 * 384 + 96 - 512 * 384);
}

TEST(ModelParameters, LayersAndTablesAddUpToTheTotal) {
  for (int leading = 0; leading < 6; ++leading) {
    for (int frequency = 1; frequency <= 3; ++frequency) {
      const ModelSpec model = with_experts(leading, frequency);
      const ParameterCount count = count_parameters(model);
      std::int64_t sum = count.embedding + count.head + model.hidden;
      std::int64_t layers_with_experts = 0;
      for (int layer = 0; layer < model.layers; ++layer) {
        sum += is_expert_layer(model, layer) ? count.expert_layer : count.dense_layer;
        layers_with_experts += is_expert_layer(model, layer) ? 1 : 0;
      }
      EXPECT_EQ(count.total, sum) << leading << " " << frequency;
      EXPECT_EQ(count.total - count.active, layers_with_experts * 14 * 3 * 512 * 256) << leading << " " << frequency;
      EXPECT_EQ(layers_with_experts == 0, !check_model(model).empty()) << leading << " " << frequency;
    }
  }
}

TEST(ModelParameters, PlacesOfExpertLayers) {
  const auto layers = [](int leading, int frequency) {
    std::string pattern;
    for (int layer = 0; layer < 6; ++layer)
      pattern += is_expert_layer(with_experts(leading, frequency), layer) ? 'E' : 'd';
    return pattern;
  };
  EXPECT_EQ(layers(0, 1), "EEEEEE");
  EXPECT_EQ(layers(2, 1), "ddEEEE");
  EXPECT_EQ(layers(0, 2), "dEdEdE");
  EXPECT_EQ(layers(1, 3), "dddEdd");
  EXPECT_FALSE(is_expert_layer(llama(), 0));
}

TEST(ModelParameters, EachTraitAddsItsOwnParameters) {
  struct Case {
    const char* name;
    std::function<void(ModelSpec&)> change;
    std::int64_t added;
  };
  const std::vector<Case> cases = {
      {"tied", [](ModelSpec& m) { m.tied_embeddings = true; }, -1000 * 512},
      {"head bias", [](ModelSpec& m) { m.head_bias = true; }, 1000},
      {"learned positions", [](ModelSpec& m) { m.position = PositionKind::kLearned, m.max_positions = 64; }, 64 * 512},
      {"layer norms", [](ModelSpec& m) { m.norm = hw_models::NormKind::kLayerNorm; }, 13 * 512},
      {"sandwich norms", [](ModelSpec& m) { m.norms_per_layer = 4; }, 12 * 512},
      {"embedding norm", [](ModelSpec& m) { m.embedding_norm = true; }, 512},
      {"parallel block", [](ModelSpec& m) { m.parallel_block = true, m.norms_per_layer = 1; }, -6 * 512},
      {"head norms", [](ModelSpec& m) { m.query_key_norm = true; }, 6 * 2 * 64},
      {"projection norms", [](ModelSpec& m) { m.query_key_norm_full = true; }, 6 * (512 + 128)},
      {"qkv bias", [](ModelSpec& m) { m.qkv_bias = true; }, 6 * (512 + 2 * 128)},
      {"output bias", [](ModelSpec& m) { m.attention_output_bias = true; }, 6 * 512},
      {"gated mlp bias", [](ModelSpec& m) { m.mlp_bias = true; }, 6 * (2 * 1024 + 512)},
      {"plain mlp", [](ModelSpec& m) { m.gated_mlp = false; }, -6 * 512 * 1024},
      {"sinks", [](ModelSpec& m) { m.attention_sinks = true; }, 6 * 8},
      {"wide heads", [](ModelSpec& m) { m.head_dim = 128; }, 6 * (2 * 512 * 512 + 2 * 512 * 128)},
  };
  const std::int64_t before = count_parameters(llama()).total;
  for (const Case& test : cases) {
    ModelSpec model = llama();
    test.change(model);
    EXPECT_EQ(count_parameters(model).total - before, test.added) << test.name;
  }
}

TEST(ModelParameters, ExpertTraits) {
  const std::int64_t before = count_parameters(with_experts(0, 1)).total;
  ModelSpec model = with_experts(0, 1);
  model.experts->router_bias = true;
  EXPECT_EQ(count_parameters(model).total - before, 6 * 16);
  model = with_experts(0, 1);
  model.experts->shared_gate = true;
  EXPECT_EQ(count_parameters(model).total - before, 6 * 512);
  model = with_experts(0, 1);
  model.experts->shared_ffn = 0;
  EXPECT_EQ(count_parameters(model).total - before, -6 * 3 * 512 * 128);
  model.expert_bias = true;
  EXPECT_EQ(count_parameters(model).total - before, 6 * (16 * (2 * 256 + 512) - 3 * 512 * 128));
}

TEST(CheckModel, FindsContradictions) {
  struct Case {
    const char* field;
    std::function<void(ModelSpec&)> change;
  };
  const std::vector<Case> cases = {
      {"kv_heads", [](ModelSpec& m) { m.kv_heads = 3; }},
      {"kv_heads", [](ModelSpec& m) { m.kv_heads = 0; }},
      {"kv_heads",
       [](ModelSpec& m) {
         m.latent = LatentAttention{0, 1, 1, 1, 1};
       }},
      {"latent", [](ModelSpec& m) { m = latent(), m.qkv_bias = true; }},
      {"latent", [](ModelSpec& m) { m = latent(), m.query_key_norm = true; }},
      {"experts.per_token", [](ModelSpec& m) { m = with_experts(0, 1), m.experts->per_token = 17; }},
      {"experts.leading_dense_layers", [](ModelSpec& m) { m = with_experts(6, 1); }},
      {"ffn", [](ModelSpec& m) { m.ffn = 0; }},
      {"ffn", [](ModelSpec& m) { m = with_experts(1, 1), m.ffn = 0; }},
      {"max_positions", [](ModelSpec& m) { m.position = PositionKind::kLearned; }},
      {"layers", [](ModelSpec& m) { m.layers = 10'000, m.hidden = 1'000'000, m.ffn = 10'000'000; }},
  };
  for (const Case& test : cases) {
    ModelSpec model = llama();
    test.change(model);
    const std::vector<ModelDefect> defects = check_model(model);
    ASSERT_EQ(defects.size(), 1U) << test.field;
    EXPECT_EQ(defects[0].field, test.field);
    EXPECT_FALSE(defects[0].message.empty());
  }
  for (const ModelSpec& sound : {llama(), latent(), with_experts(3, 1), gpt(2, 64, 4)}) {
    EXPECT_TRUE(check_model(sound).empty());
  }
}

TEST(CheckModel, CountsOfTheLargestModelsDoNotOverflow) {
  ModelSpec model = gpt(10'000, 100'000, 1);  // 1.2e15 parameters, the size of 10,000 GPT-3s
  ASSERT_TRUE(check_model(model).empty());
  const ParameterCount count = count_parameters(model);
  EXPECT_EQ(count.dense_layer, 12 * 100'000LL * 100'000 + 13 * 100'000);
  EXPECT_EQ(count.total, 10'000 * count.dense_layer + (51200 + 2048 + 2) * 100'000LL);
}

}  // namespace
}  // namespace strategies
