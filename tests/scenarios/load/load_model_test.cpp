#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/load_catalog.h"

namespace scenarios {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::filesystem::path kModels = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "strategies/catalog/models";

struct Loaded {
  std::optional<strategies::ModelSpec> model;
  std::string messages;
  std::size_t sources = 0;
};

Loaded load(const std::string& text) {
  Diagnostics diagnostics("model.yaml", text);
  Loaded loaded;
  if (const auto document = parse_yaml(text, diagnostics)) {
    loaded.model = load_model(*document, "model", diagnostics);
    Diagnostics unused("model.yaml", text);
    loaded.sources = entry_notes(*document, "model", unused).sources.size();
  }
  loaded.messages = diagnostics.print();
  return loaded;
}

Loaded load_file(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return load({std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()});
}

constexpr const char* kSmall = "layers: 4\nhidden: 128\nheads: 8\nffn: 512\nvocabulary: 256\n";

TEST(LoadModel, DefaultsAreThoseOfLlama) {
  const Loaded loaded = load(kSmall);
  ASSERT_TRUE(loaded.model) << loaded.messages;
  EXPECT_EQ(loaded.messages, "");
  EXPECT_EQ(loaded.model->name, "model");
  EXPECT_EQ(loaded.model->kv_heads, 8);
  EXPECT_EQ(loaded.model->head_dim, 16);
  EXPECT_TRUE(loaded.model->gated_mlp);
  EXPECT_EQ(loaded.model->activation, strategies::Activation::kSilu);
  EXPECT_EQ(loaded.model->position, strategies::PositionKind::kRotary);
  EXPECT_EQ(loaded.model->norm, hw_models::NormKind::kRmsNorm);
  EXPECT_FALSE(loaded.model->tied_embeddings);
  EXPECT_FALSE(loaded.model->experts || loaded.model->latent);
  EXPECT_EQ(strategies::count_parameters(*loaded.model).total,
            4 * (4 * 128 * 128 + 3 * 128 * 512 + 2 * 128) + 2 * 256 * 128 + 128);
}

TEST(LoadModel, EveryKeyIsRead) {
  const Loaded loaded = load(std::string(kSmall) + R"(name: everything
kv_heads: 2
head_dim: 32
mlp: squared-relu
tied_embeddings: true
position: learned
max_positions: 64
norm: layernorm
norms_per_layer: 1
embedding_norm: true
parallel_block: true
query_key_norm: per-head
biases: {qkv: true, attention_output: true, mlp: true, head: true, experts: true}
attention_sinks: true
experts: {count: 8, per_token: 2, ffn: 64, shared_ffn: 32, leading_dense_layers: 1, frequency: 3, shared_gate: true,
          router_bias: true}
extra_prediction_layers: 2
attention_window: {tokens: 128, full_every: 6}
source: a test
)");
  ASSERT_TRUE(loaded.model) << loaded.messages;
  const strategies::ModelSpec& model = *loaded.model;
  EXPECT_EQ(model.name, "everything");
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_dim, 32);
  EXPECT_EQ(model.activation, strategies::Activation::kSquaredRelu);
  EXPECT_FALSE(model.gated_mlp);
  EXPECT_EQ(model.position, strategies::PositionKind::kLearned);
  EXPECT_EQ(model.max_positions, 64);
  EXPECT_EQ(model.norm, hw_models::NormKind::kLayerNorm);
  EXPECT_EQ(model.norms_per_layer, 1);
  EXPECT_TRUE(model.tied_embeddings && model.embedding_norm && model.parallel_block && model.query_key_norm);
  EXPECT_FALSE(model.query_key_norm_full);
  EXPECT_TRUE(model.qkv_bias && model.attention_output_bias && model.mlp_bias && model.head_bias && model.expert_bias);
  EXPECT_TRUE(model.attention_sinks);
  EXPECT_EQ(model.extra_prediction_layers, 2);
  ASSERT_TRUE(model.window);
  EXPECT_EQ(model.window->tokens, 128);
  EXPECT_EQ(model.window->full_every, 6);
  ASSERT_TRUE(model.experts);
  EXPECT_EQ(model.experts->experts, 8);
  EXPECT_EQ(model.experts->per_token, 2);
  EXPECT_EQ(model.experts->ffn, 64);
  EXPECT_EQ(model.experts->shared_ffn, 32);
  EXPECT_EQ(model.experts->leading_dense_layers, 1);
  EXPECT_EQ(model.experts->frequency, 3);
  EXPECT_TRUE(model.experts->shared_gate && model.experts->router_bias);
}

TEST(LoadModel, LatentAttentionSetsTheHeads) {
  const std::string latent = "latent: {query_rank: 48, kv_rank: 32, rope_dim: 8, nope_dim: 16, value_dim: 24}\n";
  const Loaded loaded = load(kSmall + latent);
  ASSERT_TRUE(loaded.model) << loaded.messages;
  EXPECT_EQ(loaded.model->head_dim, 24);
  EXPECT_EQ(loaded.model->latent->query_rank, 48);
  EXPECT_EQ(loaded.model->latent->kv_rank, 32);
  EXPECT_EQ(loaded.model->latent->rope_dim, 8);
  EXPECT_EQ(loaded.model->latent->nope_dim, 16);
  EXPECT_EQ(loaded.model->latent->value_dim, 24);
  EXPECT_THAT(load(kSmall + latent + "head_dim: 16\n").messages, HasSubstr("'head_dim' follows from 'latent'"));
}

TEST(LoadModel, WordsOfTheMlp) {
  const auto mlp = [](const std::string& word) { return *load(kSmall + ("mlp: " + word + "\n")).model; };
  EXPECT_TRUE(mlp("swiglu").gated_mlp);
  EXPECT_TRUE(mlp("geglu").gated_mlp);
  EXPECT_EQ(mlp("geglu").activation, strategies::Activation::kGelu);
  EXPECT_FALSE(mlp("gelu").gated_mlp);
  EXPECT_EQ(mlp("relu").activation, strategies::Activation::kRelu);
}

TEST(LoadModel, WrongModelsAreExplained) {
  struct Case {
    std::string text, message;
  };
  const std::string sizes = "layers: 4\nhidden: 128\nffn: 512\nvocabulary: 256\n";
  const std::vector<Case> cases = {
      {sizes + "heads: 6\n", "model.yaml:5:8: error: 'heads: 6' does not divide 'hidden: 128'\n"},
      {sizes + "heads: 8\nkv_heads: 3\n", "model.yaml:6:11: error: 3 key/value heads do not divide the 8 attention"},
      {sizes + "heads: 8\nposition: learned\n", "learned positions need the length of their table"},
      {sizes + "heads: 8\nexperts: {count: 4, per_token: 8, ffn: 64}\n",
       "model.yaml:6:32: error: 8 experts per token, but a layer has only 4\n"},
      {sizes + "heads: 8\nexperts: {count: 4, per_token: 2, ffn: 64, leading_dense_layers: 4}\n",
       "model.yaml:6:66: error: no layer is left for the experts"},
      {sizes + "heads: 8\nmlp: swigul\n", "did you mean 'swiglu'?"},
      {sizes + "heads: 8\nlayerz: 3\n", "did you mean 'layers'?"},
      {sizes + "heads: 8\nexperts: 8\n", "'experts' must be a map"},
      {sizes + "heads: 8\nlatent: {kv_rank: 8}\n", "'latent.nope_dim' is missing"},
      {sizes + "heads: 8\nbiases: {kqv: true}\n", "did you mean 'qkv'?"},
      {"layers: 1000000000\nhidden: 128\nheads: 8\nffn: 512\nvocabulary: 256\n",
       "'layers: 1000000000' is out of range"},
      {"layers: 10000\nhidden: 1000000\nheads: 8\nffn: 10000000\nvocabulary: 256\n", "more than 1e16 parameters"},
      {"- 1\n- 2\n", "the document must be a map"},
  };
  for (const Case& test : cases) {
    const Loaded loaded = load(test.text);
    EXPECT_FALSE(loaded.model) << test.text;
    EXPECT_THAT(loaded.messages, HasSubstr(test.message));
  }
  EXPECT_THAT(load("name: empty\n").messages,
              AllOf(HasSubstr("'layers' is missing"), HasSubstr("'hidden' is missing"), HasSubstr("'heads' is missing"),
                    HasSubstr("'ffn' is missing"), HasSubstr("'vocabulary' is missing")));
}

TEST(LoadModel, EarlierFindingsDoNotSpoilAModel) {
  const std::string text = kSmall;
  Diagnostics diagnostics("scenario.yaml", text);
  diagnostics.error(Place{}, "something else is wrong");
  const auto document = parse_yaml(text, diagnostics);
  ASSERT_TRUE(document);
  EXPECT_TRUE(load_model(*document, "model", diagnostics));
}

// --- the catalogue ---------------------------------------------------------------------------------------------------

/// Sizes that others publish, in 1e9 parameters: model cards, and the papers named in each file. The shapes of one
/// table printed to a digit ("1.7") and round names ("22B") get the tolerance of their last digit.
struct Published {
  const char* name;
  double total, tolerance;
  double active = 0, active_tolerance = 0;
};
constexpr Published kPublished[] = {
    {"gpt2", 0.1244398, 1e-6},
    {"gpt2-xl", 1.5576, 1e-4},
    {"gpt3-175b", 175, 0.5},
    {"megatron-22b", 22, 0.5},
    {"megatron-530b", 530, 0.5},
    {"megatron-1t", 1008, 0.5},
    {"megatron-gpt-1.7b", 1.7, 0.05},
    {"megatron-gpt-3.6b", 3.6, 0.05},
    {"megatron-gpt-7.5b", 7.5, 0.05},
    {"megatron-gpt-18.4b", 18.4, 0.05},
    {"megatron-gpt-39.1b", 39.1, 0.05},
    {"megatron-gpt-76.1b", 76.1, 0.05},
    {"megatron-gpt-145.6b", 145.6, 0.05},
    {"megatron-gpt-310.1b", 310.1, 0.05},
    {"megatron-gpt-530b", 529.6, 0.05},
    {"megatron-gpt-1t", 1008.0, 0.05},
    {"llama2-7b", 6.738, 0.001},
    {"llama2-13b", 13.016, 0.001},
    {"llama2-70b", 68.977, 0.001},
    {"llama3-8b", 8.030, 0.001},
    {"llama3-70b", 70.554, 0.001},
    {"llama3-405b", 405.853, 0.001},
    {"mistral-7b", 7.242, 0.001},
    {"mixtral-8x7b", 46.703, 0.001, 12.9, 0.05},
    {"mixtral-8x22b", 140.62, 0.01, 39, 0.5},
    {"qwen2.5-7b", 7.616, 0.001},
    {"qwen2.5-14b", 14.770, 0.001},
    {"qwen2.5-32b", 32.764, 0.001},
    {"qwen3-8b", 8.191, 0.001},
    {"qwen3-32b", 32.762, 0.001},
    {"qwen3-30b-a3b", 30.532, 0.001, 3.3, 0.1},
    {"qwen3-235b-a22b", 235.094, 0.001, 22, 0.5},
    {"deepseek-v2", 235.741, 0.001, 21, 0.5},
    {"deepseek-v3", 671.026, 0.001, 37, 0.6},
    {"gpt-neox-20b", 20.555, 0.001},
    {"bloom-176b", 176.247, 0.001},
    {"falcon-40b", 41.836, 0.001},
    {"opt-13b", 12.853, 0.001},
    {"opt-175b", 175, 0.5},
    {"gemma2-9b", 9.242, 0.001},
    {"gemma2-27b", 27.227, 0.001},
    // The card's active parameters, 3.61 and 5.13, leave out the input embedding of 0.579.
    {"gpt-oss-20b", 20.915, 0.001, 3.61 + 0.579, 0.01},
    {"gpt-oss-120b", 116.829, 0.001, 5.13 + 0.579, 0.01},
};

TEST(ModelCatalog, SizesAreThePublishedOnes) {
  for (const Published& row : kPublished) {
    const Loaded loaded = load_file(kModels / (std::string(row.name) + ".yaml"));
    ASSERT_TRUE(loaded.model) << row.name << "\n" << loaded.messages;
    const strategies::ParameterCount count = strategies::count_parameters(*loaded.model);
    EXPECT_NEAR(static_cast<double>(count.total) * 1e-9, row.total, row.tolerance) << row.name;
    const double active = row.active > 0 ? row.active : row.total;
    const double tolerance = row.active > 0 ? row.active_tolerance : row.tolerance;
    EXPECT_NEAR(static_cast<double>(count.active) * 1e-9, active, tolerance) << row.name;
  }
}

TEST(ModelCatalog, EveryFileLoadsCleanlyNamesItsSourceAndHasAPublishedSize) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kModels)) {
    const Loaded loaded = load_file(entry.path());
    EXPECT_TRUE(loaded.model) << entry.path();
    EXPECT_EQ(loaded.messages, "") << entry.path();
    EXPECT_GE(loaded.sources, 1U) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, std::size(kPublished) + 1);  // and tiny-cpu, which nobody else has
}

TEST(ModelCatalog, TheCpuModelIsTiny) {
  const Loaded loaded = load_file(kModels / "tiny-cpu.yaml");
  ASSERT_TRUE(loaded.model) << loaded.messages;
  EXPECT_EQ(strategies::count_parameters(*loaded.model).total,
            4 * (12 * 128 * 128 + 13 * 128) + (256 + 512) * 128 + 2 * 128);
}

}  // namespace
}  // namespace scenarios
