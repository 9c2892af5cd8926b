#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/executor/cpu/float64_kernels.h"
#include "tests/executor/cpu/reference.h"
#include "tests/executor/reference_model.h"
#include "tests/programs/small_plans.h"

namespace executor {
namespace {

using strategies::Activation;
using strategies::ModelSpec;
using strategies::PositionKind;

ModelSpec gpt() {
  ModelSpec model = tests::small_gpt();
  model.name = "GPT";
  model.layers = 2;
  model.hidden = 12;
  model.heads = model.kv_heads = 3;
  model.head_dim = 4;
  model.ffn = 20;
  model.vocabulary = 17;
  model.max_positions = 16;
  return model;
}

ModelSpec llama() {
  ModelSpec model = gpt();
  model.name = "Llama";
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 6;
  model.gated_mlp = true;
  model.activation = Activation::kSilu;
  model.tied_embeddings = false;
  model.position = PositionKind::kRotary;
  model.norm = hw_models::NormKind::kRmsNorm;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = false;
  return model;
}

ModelSpec relu_with_head_bias() {
  ModelSpec model = gpt();
  model.name = "squared ReLU with head bias";
  model.activation = Activation::kSquaredRelu;
  model.head_bias = true;
  model.tied_embeddings = false;
  return model;
}

/// The first layer's queries see four tokens.
ModelSpec windows() {
  ModelSpec model = llama();
  model.name = "windows";
  model.window = {.tokens = 4, .full_every = 2};
  return model;
}

std::vector<ModelSpec> models() { return {gpt(), llama(), relu_with_head_bias(), windows()}; }

double initial(const std::string& parameter, std::int64_t index) {
  std::uint32_t seed = static_cast<std::uint32_t>(index);
  for (const char letter : parameter) seed = seed * 31 + static_cast<unsigned char>(letter);
  std::mt19937 random(seed);
  const double centre = parameter.find("norm") != std::string::npos ? 0.7 : 0;
  return centre + (static_cast<double>(random()) / 2147483648.0 - 1) * 0.3;
}

/// Two sequences of unequal length with a rule to learn: the next token is the last one plus one.
std::vector<std::vector<std::int32_t>> sequences() {
  std::vector<std::vector<std::int32_t>> all(2);
  for (std::int32_t i = 0; i < 10; ++i) all[0].push_back((i + 3) % 17);
  for (std::int32_t i = 0; i < 7; ++i) all[1].push_back((i + 11) % 17);
  return all;
}

TEST(WholeModel, GradientsLikeFiniteDifferences) {
  const auto data = sequences();
  for (const ModelSpec& spec : models()) {
    for (const cpu::Kernels<double>& kernels : {cpu::reference::kernels<double>(), cpu::float64::make_table()}) {
      ReferenceModel<double> model(spec, kernels, initial);
      model.loss_and_gradients(data);
      const ReferenceModel<double>::Parameters exact = model.parameters();
      for (const auto& [name, parameter] : exact) {
        for (std::size_t i = 0; i < parameter.weight.size(); i += 7) {
          double& weight = model.parameters().at(name).weight[i];
          constexpr double kStep = 1e-5;
          weight = parameter.weight[i] + kStep;
          const double above = model.loss_and_gradients(data);
          weight = parameter.weight[i] - kStep;
          const double below = model.loss_and_gradients(data);
          weight = parameter.weight[i];
          ASSERT_NEAR((above - below) / (2 * kStep), parameter.gradient[i], 1e-8)
              << spec.name << ' ' << name << ' ' << i;
        }
      }
    }
  }
}

template <class T>
std::vector<double> losses(const ModelSpec& spec, const cpu::Kernels<T>& kernels, bool adamw) {
  ReferenceModel<T> model(spec, kernels, initial);
  std::vector<double> all;
  for (int step = 0; step < 30; ++step) {
    all.push_back(model.loss_and_gradients(sequences()));
    all.push_back(model.gradient_norm());
    if (adamw) {
      // A bias of keys changes no softmax: its gradient is rounding alone, which a smaller epsilon would blow up.
      model.clip(1.0);
      model.update_adamw({.learning_rate = 0.01, .epsilon = 1e-5, .weight_decay = 0.01});
    } else {
      model.update_sgd(0.03, 0.01);
    }
  }
  for (const auto& [name, parameter] : model.parameters()) {
    for (const T weight : parameter.weight) all.push_back(static_cast<double>(weight));
  }
  return all;
}

TEST(WholeModel, SinglePrecisionFollowsThePlainLoops) {
  for (const ModelSpec& spec : models()) {
    for (const bool adamw : {false, true}) {
      const double tolerance = adamw ? 1e-3 : 1e-4;  // AdamW divides small gradients, rounding and all, by their size
      const std::vector<double> expected = losses(spec, cpu::reference::kernels<double>(), adamw);
      EXPECT_LT(expected[58], (adamw ? 0.8 : 0.95) * expected[0]) << spec.name;  // the last loss, the first
      for (const cpu::Kernels<float>& kernels : cpu::runnable_kernels()) {
        const std::vector<double> actual = losses(spec, kernels, adamw);
        ASSERT_EQ(actual.size(), expected.size());
        for (std::size_t i = 0; i < actual.size(); ++i) {
          ASSERT_NEAR(actual[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
              << spec.name << ' ' << kernels.name << ' ' << i << (adamw ? " AdamW" : " SGD");
        }
        EXPECT_EQ(actual, losses(spec, kernels, adamw)) << "not the same bits twice";
      }
    }
  }
}

}  // namespace
}  // namespace executor
