#include "scenarios/load/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::filesystem::path kFixtures = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "tests/fuzz/corpus/hf_config";
const std::filesystem::path kCorpus = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "../shared/data/hf_configs";

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// The message of a refusal; empty when the text is accepted.
std::string refusal(const std::string& text) {
  try {
    import_hf_config(text, "config.json", "model");
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

/// A sound configuration with `replacement` for `original`.
std::string llama_with(const std::string& original, const std::string& replacement) {
  std::string text = read(kFixtures / "llama_like.json");
  const auto at = text.find(original);
  EXPECT_NE(at, std::string::npos) << original;
  return text.replace(at, original.size(), replacement);
}

TEST(HfConfig, LlamaByHand) {
  const strategies::ModelSpec model = load_hf_config(kFixtures / "llama_like.json");
  EXPECT_EQ(model.name, "llama_like");
  EXPECT_EQ(model.layers, 6);
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_dim, 64);
  EXPECT_TRUE(model.gated_mlp);
  EXPECT_EQ(model.max_positions, 2048);
  const std::int64_t layer = 2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1024 + 2 * 512;
  EXPECT_EQ(strategies::count_parameters(model).total, 6 * layer + 2 * 1000 * 512 + 512);
}

TEST(HfConfig, Gpt2ByHand) {
  const strategies::ModelSpec model = load_hf_config(kFixtures / "gpt2_like.json");
  EXPECT_EQ(model.ffn, 256);
  EXPECT_EQ(model.position, strategies::PositionKind::kLearned);
  EXPECT_EQ(model.activation, strategies::Activation::kGelu);
  EXPECT_TRUE(model.tied_embeddings);
  EXPECT_EQ(strategies::count_parameters(model).total, 2 * (12 * 64 * 64 + 13 * 64) + (100 + 32) * 64 + 2 * 64);
}

TEST(HfConfig, LatentAttentionAndExpertsByHand) {
  const strategies::ModelSpec model = load_hf_config(kFixtures / "latent_experts.json");
  EXPECT_EQ(model.extra_prediction_layers, 1);
  EXPECT_EQ(model.head_dim, 24);
  const std::int64_t attention =
      256 * 48 + 48 + 48 * 4 * 24 + 256 * (32 + 8) + 32 + 32 * 4 * (16 + 16) + 4 * 16 * 256 + 2 * 256;
  const std::int64_t expert = 3 * 256 * 96;
  const std::int64_t total = 3 * attention + 3 * 256 * 640 + 2 * ((8 + 2) * expert + 8 * 256 + 8) + 2 * 500 * 256 + 256;
  EXPECT_EQ(strategies::count_parameters(model).total, total);
  EXPECT_EQ(strategies::count_parameters(model).active, total - 2 * 6 * expert);
}

TEST(HfConfig, TheLanguageModelOfAMultimodalFile) {
  const strategies::ModelSpec model = load_hf_config(kFixtures / "language_and_vision.json");
  EXPECT_EQ(model.hidden, 96);
  EXPECT_EQ(model.layers, 5);
  EXPECT_EQ(model.head_dim, 32);
  EXPECT_EQ(model.norms_per_layer, 4);
  EXPECT_TRUE(model.tied_embeddings);
  EXPECT_TRUE(model.query_key_norm);
}

TEST(HfConfig, PythonNumbersAreAccepted) {
  const strategies::ModelSpec model = load_hf_config(kFixtures / "python_numbers.json");
  EXPECT_TRUE(model.parallel_block);
  EXPECT_EQ(model.norms_per_layer, 1);
  EXPECT_EQ(strategies::count_parameters(model).total,
            2 * (12 * 64 * 64 + 4 * 64 + 64 + 2 * 64) + 2 * 100 * 64 + 100 + 2 * 64);
}

TEST(HfConfig, FamiliesFillInWhatTheirFilesLeaveOut) {
  const std::string sizes = R"("num_hidden_layers": 2, "hidden_size": 512, "num_attention_heads": 4, "vocab_size": 64,
      "intermediate_size": 96, "max_position_embeddings": 30)";
  const auto model = [&](const std::string& keys) {
    return import_hf_config("{" + keys + ", " + sizes + "}", "config.json", "model");
  };
  EXPECT_EQ(model(R"("model_type": "opt")").max_positions, 32);
  EXPECT_EQ(model(R"("model_type": "opt")").activation, strategies::Activation::kRelu);
  EXPECT_EQ(model(R"("model_type": "bloom")").position, strategies::PositionKind::kAlibi);
  EXPECT_TRUE(model(R"("model_type": "bloom")").embedding_norm);
  EXPECT_EQ(model(R"("model_type": "falcon")").kv_heads, 1);
  EXPECT_EQ(model(R"("model_type": "falcon", "multi_query": false)").kv_heads, 4);
  EXPECT_EQ(model(R"("model_type": "falcon")").norms_per_layer, 1);
  EXPECT_EQ(model(R"("model_type": "falcon", "parallel_attn": false)").norms_per_layer, 2);
  EXPECT_EQ(model(R"("model_type": "RefinedWeb", "new_decoder_architecture": true, "n_head_kv": 2)").kv_heads, 2);
  EXPECT_EQ(model(R"("model_type": "gpt_bigcode")").kv_heads, 1);
  EXPECT_FALSE(model(R"("model_type": "gpt_neox", "use_parallel_residual": false)").parallel_block);
  EXPECT_EQ(model(R"("model_type": "gemma2")").head_dim, 256);
  EXPECT_EQ(model(R"("model_type": "nemotron", "hidden_act": "relu2")").activation,
            strategies::Activation::kSquaredRelu);
  EXPECT_TRUE(model(R"("_class": "transformers.Qwen2Config", "attention_bias": true)").qkv_bias);
  EXPECT_FALSE(model(R"("_class": "transformers.Qwen2Config", "attention_bias": true)").attention_output_bias);
  EXPECT_TRUE(model(R"("architectures": ["LlamaForCausalLM"], "attention_bias": true)").attention_output_bias);
  EXPECT_TRUE(model(R"("model_type": "llama", "tie_word_embeddings": true)").tied_embeddings);
}

/// Tokens and every how many layers one sees all; 0 and 0 = no windows.
TEST(HfConfig, WindowsFollowTheFamily) {
  struct Case {
    const char* keys;
    std::int64_t tokens;
    int full_every;
  };
  const std::string sizes = R"("num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 4, "vocab_size": 64,
      "intermediate_size": 96, "max_position_embeddings": 30)";
  for (const Case& test : std::vector<Case>{
           {R"("model_type": "mistral", "sliding_window": 4096)", 4096, 0},
           {R"("model_type": "mistral", "sliding_window": null)", 0, 0},
           {R"("model_type": "mistral")", 0, 0},
           {R"("model_type": "llama", "sliding_window": 4096)", 0, 0},
           {R"("model_type": "gemma2", "sliding_window": 4096)", 4096, 2},
           {R"("model_type": "gemma3", "sliding_window": 512)", 512, 6},
           {R"("model_type": "gemma3", "sliding_window": 512, "sliding_window_pattern": 3)", 512, 3},
           {R"("model_type": "gemma3", "sliding_window": 512, "sliding_window_pattern": 1)", 0, 0},
           {R"("model_type": "olmo3", "sliding_window": 1024)", 1024, 4},
           {R"("model_type": "starcoder2", "sliding_window": 4096)", 4096, 0},
           {R"("model_type": "qwen2", "sliding_window": 4096)", 0, 0},
           {R"("model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": false)", 0, 0},
           {R"("model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": true)", 0, 0},
           {R"("model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": true, "max_window_layers": 0)",
            4096, 0},
           {R"("model_type": "gemma3", "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention",
                "sliding_attention", "full_attention"])",
            512, 2},
           {R"("model_type": "gemma3", "sliding_window": 512, "layer_types": ["sliding_attention", "sliding_attention",
                "sliding_attention", "sliding_attention"])",
            512, 0}}) {
    const auto model = import_hf_config("{" + std::string(test.keys) + ", " + sizes + "}", "config.json", "model");
    EXPECT_EQ(model.window ? model.window->tokens : 0, test.tokens) << test.keys;
    EXPECT_EQ(model.window ? model.window->full_every : 0, test.full_every) << test.keys;
  }
  const std::string uneven = R"({"model_type": "gemma3", "sliding_window": 512, "layer_types": ["sliding_attention",
      "full_attention", "full_attention", "sliding_attention"], )" +
                             sizes + "}";
  EXPECT_THAT(refusal(uneven), ::testing::HasSubstr("layers of full attention that are not every n-th"));
}

TEST(HfConfig, SyntaxErrorsHaveAPlace) {
  EXPECT_EQ(refusal(read(kFixtures / "broken.json")),
            "config.json:5:14: error: broken JSON: unexpected string literal; expected '}'\n"
            "    5 |   \"vocab_size\": 1000\n"
            "      |              ^\n");
  const std::string whole = read(kFixtures / "llama_like.json");
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {  // the file ends in "}\n"
    EXPECT_THAT(refusal(whole.substr(0, size)), HasSubstr("error: broken JSON")) << size;
  }
  EXPECT_THAT(refusal("[1, 2]"), StartsWith("config.json:1:1: error: a config.json is an object"));
  EXPECT_THAT(refusal(std::string(1000, '[')), StartsWith("config.json:1:33: error: nested deeper than 32 levels"));
  EXPECT_THAT(refusal(std::string("{\"model_type\": \"\xFF\x00\x01\"}", 20)), HasSubstr("broken JSON"));
  EXPECT_THAT(refusal("{\"vocab_size\": 1e999}"), HasSubstr("broken JSON: number overflow"));
  EXPECT_THAT(refusal(std::string(5 << 20, ' ')), HasSubstr("larger than 4 MiB"));
}

TEST(HfConfig, DefectsHaveThePlaceOfTheirKey) {
  struct Case {
    std::string original, replacement, message;
  };
  const std::vector<Case> cases = {
      {"\"num_hidden_layers\": 6", "\"num_hidden_layers\": 1000000000",
       "config.json:9:3: error: 'num_hidden_layers' is 1000000000, outside 1 to 10000\n"},
      {"\"num_hidden_layers\": 6", "\"num_hidden_layers\": \"6\"",
       "config.json:9:3: error: 'num_hidden_layers' must be a whole number, not \"6\"\n"},
      {"\"num_hidden_layers\": 6", "\"num_hidden_layers\": 6.5",
       "config.json:9:3: error: 'num_hidden_layers' must be a whole number, not 6.5\n"},
      {"\"num_hidden_layers\": 6", "\"layer\": 6",
       "config.json: error: 'num_hidden_layers' or 'n_layer' or 'n_layers' or 'num_layers' is missing"},
      {"\"hidden_size\": 512", "\"hidden_size\": -512",
       "config.json:5:3: error: 'hidden_size' is -512, outside 1 to 1000000\n"},
      {"\"hidden_size\": 512", "\"hidden_size\": 18446744073709551615",
       "config.json:5:3: error: 'hidden_size' is 18446744073709551615, outside 1 to 1000000\n"},
      {"\"num_attention_heads\": 8", "\"num_attention_heads\": 10",
       "config.json:8:3: error: 10 attention heads do not divide the hidden size 512\n"},
      {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3",
       "config.json:10:3: error: 'num_key_value_heads': 3 key/value heads do not divide the 8 attention heads\n"},
      {"\"tie_word_embeddings\": false", "\"tie_word_embeddings\": 0",
       "config.json:12:3: error: 'tie_word_embeddings' must be true or false, not 0\n"},
      {"\"silu\"", "\"tanh\"", "config.json:4:3: error: the activation 'tanh' is not supported\n"},
      {"\"model_type\": \"llama\"", "\"model_type\": [\"llama\"]",
       "config.json:3:3: error: 'model_type' must be text, not [\"llama\"]\n"},
      {"\"model_type\": \"llama\"", "\"model_type\": \"lama\"",
       "config.json:3:3: error: models of type 'lama' are not supported\n"},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(refusal(llama_with(test.original, test.replacement)), StartsWith(test.message));
  }
  EXPECT_THAT(refusal("{}"), StartsWith("config.json: error: 'model_type' is missing"));
}

TEST(HfConfig, AllDefectsAtOnce) {
  EXPECT_THAT(refusal(read(kFixtures / "absurd_sizes.json")),
              AllOf(HasSubstr("config.json:1:27: error: 'hidden_size' is 1000000000000, outside 1 to 1000000\n"),
                    HasSubstr("config.json:1:57: error: 'intermediate_size' is -1, outside"),
                    HasSubstr("config.json:1:82: error: 'num_attention_heads' must be a whole number, not \"32\"\n"),
                    HasSubstr("config.json:2:2: error: 'num_hidden_layers' must be a whole number"),
                    HasSubstr("error: 'num_local_experts' is 18446744073709551615, outside 1 to 100000\n"),
                    HasSubstr("error: 'num_experts_per_tok' or 'experts_per_token' is missing"),
                    HasSubstr("error: 'vocab_size' must be a whole number, not [1]\n")));
}

TEST(HfConfig, ModelsThatCannotBeExpressedAreNamed) {
  struct Case {
    std::string keys, message;
  };
  const std::vector<Case> cases = {
      {R"("model_type": "vit")", "'vit': a vision model without a language model in it is not supported"},
      {R"("model_type": "new", "image_size": 224)", "'new': a vision model without a language model in it"},
      {R"("model_type": "t5")", "'t5': an encoder-decoder model is not supported"},
      {R"("model_type": "new", "is_encoder_decoder": true)", "'new': an encoder-decoder model is not supported"},
      {R"("model_type": "bert")", "'bert': an encoder-only model is not supported"},
      {R"("model_type": "mamba2")", "'mamba2': a stack with state-space (Mamba) or recurrent layers is not supported"},
      {R"("model_type": "new", "ssm_state_size": 16)", "'new': a stack with state-space (Mamba) or recurrent layers"},
      {R"("model_type": "llama", "index_topk": 16)", "'llama': sparse attention chosen by an indexer is not supported"},
  };
  for (const Case& test : cases) EXPECT_THAT(refusal("{" + test.keys + "}"), HasSubstr(test.message));
  EXPECT_THAT(refusal(read(kFixtures / "vision.json")),
              StartsWith("config.json:3:3: error: 'vit': a vision model without a language model in it"));
}

TEST(HfConfig, ExpertLayoutsThatCannotBeExpressedAreRefused) {
  const auto qwen = [](const std::string& keys) {
    return R"({"model_type": "qwen3_moe", "num_hidden_layers": 8, "hidden_size": 64, "num_attention_heads": 4,
      "vocab_size": 64, "intermediate_size": 96, "moe_intermediate_size": 32, "num_experts": 4,
      "num_experts_per_tok": 2, )" +
           keys + "}";
  };
  EXPECT_EQ(refusal(qwen(R"("mlp_only_layers": [0, 1])")), "");
  EXPECT_EQ(import_hf_config(qwen(R"("mlp_only_layers": [0, 1])"), "f", "m").experts->leading_dense_layers, 2);
  EXPECT_EQ(import_hf_config(qwen(R"("decoder_sparse_step": 2)"), "f", "m").experts->frequency, 2);
  EXPECT_THAT(refusal(qwen(R"("mlp_only_layers": [3])")), HasSubstr("dense layers other than the first ones"));
  EXPECT_THAT(refusal(qwen(R"("mlp_only_layers": [0], "decoder_sparse_step": 2)")), HasSubstr("together with"));
  EXPECT_THAT(refusal(qwen(R"("mlp_only_layers": ["a"])")), HasSubstr("must be a list of whole numbers"));
  std::string deepseek = read(kFixtures / "latent_experts.json");
  deepseek.replace(deepseek.find("\"moe_layer_freq\": 1"), 19, "\"moe_layer_freq\": 2");
  EXPECT_THAT(refusal(deepseek), HasSubstr("config.json:9:3: error: 'moe_layer_freq' other than 1 is not supported"));
}

TEST(HfConfig, FilesThatCannotBeRead) {
  const auto message = [](const std::filesystem::path& path) -> std::string {
    try {
      load_hf_config(path);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_THAT(message(kFixtures), HasSubstr("error: this is a directory"));
  EXPECT_THAT(message(kFixtures / "absent.json"), HasSubstr("error: there is no such file"));
  EXPECT_THAT(message(kFixtures / "broken.json"), StartsWith((kFixtures / "broken.json").string() + ":5:14: error"));
}

// --- the corpus of published configurations, where it is at hand -----------------------------------------------------

struct Expected {
  std::string status;
  double total = 0, active = 0;
};

std::map<std::string, Expected> expected_parameters() {
  std::map<std::string, Expected> rows;
  std::ifstream stream(kCorpus / "expected_params.csv");
  std::string line;
  std::getline(stream, line);  // header
  while (std::getline(stream, line)) {
    std::istringstream cells(line);
    std::string name, status, type, total, active;
    for (std::string* cell : {&name, &status, &type, &total, &active}) std::getline(cells, *cell, ',');
    rows[name] = {status, total.empty() ? 0 : std::stod(total), active.empty() ? 0 : std::stod(active)};
  }
  return rows;
}

/// Files that are refused, with a part of the sentence that says why.
const std::map<std::string, std::string> kRefused = {
    {"DeepSeek-V3.2", "sparse attention chosen by an indexer is not supported"},
    {"Nemotron-H-56B-Base-8K", "a stack with state-space (Mamba) or recurrent layers is not supported"},
    {"Qwen3-Next-80B-A3B", "interleaves linear attention with full attention is not supported"},
    {"Qwen3.5-397B-A17B", "interleaves linear attention with full attention is not supported"},
    {"gemma-4-26B-A4B", "attention of two head widths in one stack"},
};

/// Rows of the table that apply a formula too plain for the model; the published sizes instead.
const std::map<std::string, Expected> kBetterThanTheFormula = {
    {"Llama-4-Maverick-17B-128E-Instruct", {"every other layer is dense; 400 B, 17 B active", 400e9, 17e9}},
    {"Qwen1.5-MoE-A2.7B", {"the shared expert and its gate; 14.3 B, 2.7 B active", 14.3e9, 2.7e9}},
};

TEST(HfConfigCorpus, EveryFileLoadsOrIsRefusedWithAReason) {
  if (!std::filesystem::exists(kCorpus)) GTEST_SKIP() << "no corpus at " << kCorpus;
  const std::map<std::string, Expected> expected = expected_parameters();
  int files = 0, validated = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus)) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const std::string name = entry.path().stem().string();
    const auto refused = kRefused.find(name);
    if (refused != kRefused.end()) {
      EXPECT_THAT(refusal(read(entry.path())), HasSubstr(refused->second)) << name;
      continue;
    }
    const strategies::ParameterCount count = strategies::count_parameters(load_hf_config(entry.path()));
    const auto better = kBetterThanTheFormula.find(name);
    const Expected& row = better != kBetterThanTheFormula.end() ? better->second : expected.at(name);
    const double tolerance = row.status == "validated" ? 0.001 : 0.015;
    EXPECT_NEAR(static_cast<double>(count.total) / row.total, 1, tolerance) << name << ": " << row.status;
    EXPECT_NEAR(static_cast<double>(count.active) / row.active, 1, tolerance) << name << ": " << row.status;
    validated += row.status == "validated" ? 1 : 0;
  }
  EXPECT_EQ(files, 56);
  EXPECT_EQ(validated, 37);
}

}  // namespace
}  // namespace scenarios
