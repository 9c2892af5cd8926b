#include "tests/executor/cpu/kernel_arrays.h"

namespace executor::cpu {
namespace {

TEST(Optimizer, SgdLikePlainLoops) {
  for (const std::int64_t n : {1, 8, 1003}) {
    for (const double decay : {0.0, 0.1}) {
      expect_like_plain_loops("SGD", {random_values(n, 1), random_values(n, 2)}, 2e-7,
                              [&](const auto& kernels, auto& a) { kernels.sgd(n, 0.05, decay, a[0], a[1]); });
    }
  }
}

TEST(Optimizer, AdamwLikePlainLoops) {
  for (const std::int64_t n : {1, 8, 1003}) {
    for (const double decay : {0.0, 0.1}) {
      const Values nothing(static_cast<std::size_t>(n));
      expect_like_plain_loops("AdamW", {random_values(n, 1), nothing, nothing, random_values(n, 2)}, 1e-6,
                              [&](const auto& kernels, auto& a) {
                                AdamWShape shape{.elements = n, .learning_rate = 0.01, .weight_decay = decay};
                                for (shape.step = 1; shape.step <= 5; ++shape.step) {
                                  kernels.adamw(shape, a[0], a[1], a[2], a[3]);
                                  kernels.scale(n, -0.5f, a[0]);  // another gradient in every step
                                }
                              });
    }
  }
}

TEST(Optimizer, FirstAdamwStepMovesByTheLearningRate) {
  // m / (1 - beta1) = g and v / (1 - beta2) = g^2, so the step is rate g / |g|.
  for (const Kernels<float>& kernels : runnable_kernels()) {
    std::vector<float> gradient = {3, -0.02f, 0}, momentum(3), variance(3), weights = {1, 1, 1};
    kernels.adamw({.elements = 3, .step = 1, .learning_rate = 0.25}, gradient.data(), momentum.data(), variance.data(),
                  weights.data());
    EXPECT_NEAR(weights[0], 0.75, 1e-6) << kernels.name;
    EXPECT_NEAR(weights[1], 1.25, 1e-6) << kernels.name;
    EXPECT_EQ(weights[2], 1) << kernels.name;
  }
}

}  // namespace
}  // namespace executor::cpu
