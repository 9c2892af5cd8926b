#include "tests/executor/cpu/kernel_arrays.h"

namespace executor::cpu {
namespace {

using strategies::Activation;

std::vector<ActivationShape> shapes() {
  std::vector<ActivationShape> all;
  for (const Activation activation :
       {Activation::kGelu, Activation::kSilu, Activation::kSquaredRelu, Activation::kRelu}) {
    for (const bool gated : {false, true}) {
      for (const std::int64_t columns : {1, 8, 21}) {
        all.push_back({.rows = 3, .columns = columns, .activation = activation, .gated = gated});
      }
    }
  }
  return all;
}

std::string name(const ActivationShape& s) {
  return "activation " + std::to_string(static_cast<int>(s.activation)) + (s.gated ? " gated, " : ", ") +
         std::to_string(s.columns) + " columns";
}

Values random_up(const ActivationShape& s, double largest) {
  Values up = random_values(s.rows * s.columns * (s.gated ? 2 : 1), 1);
  for (double& x : up) x *= largest;
  return up;
}

TEST(Activation, LikePlainLoops) {
  for (const ActivationShape& s : shapes()) {
    for (const double largest : {0.1, 6.0, 200.0}) {
      const Values up = random_up(s, largest);
      expect_like_plain_loops(name(s), {up, unset(s.rows * s.columns)}, 1e-6,
                              [&](const auto& kernels, auto& a) { kernels.activation_forward(s, a[0], a[1]); });
      const std::vector<Values> values = {up, random_values(s.rows * s.columns, 2), Values(up.size())};
      expect_like_plain_loops(name(s) + " backward", values, 1e-6,
                              [&](const auto& kernels, auto& a) { kernels.activation_backward(s, a[0], a[1], a[2]); });
    }
  }
}

TEST(Activation, BackwardLikeFiniteDifferences) {
  const Kernels<double> kernels = float64::make_table();
  for (const ActivationShape& s : shapes()) {
    const Values up = random_up(s, 3), weights = random_values(s.rows * s.columns, 2);
    Values gradient(up.size());
    kernels.activation_backward(s, up.data(), weights.data(), gradient.data());
    expect_gradient(name(s), up, weights, gradient, [&](const Values& x) {
      Values y(weights.size());
      kernels.activation_forward(s, x.data(), y.data());
      return y;
    });
  }
}

TEST(Activation, KnownValues) {
  struct Known {
    Activation activation;
    double x, y;
  };
  // GELU, tanh form, and SiLU of +-1, to six digits.
  const Known table[] = {{Activation::kGelu, 1, 0.841192}, {Activation::kGelu, -1, -0.158808},
                         {Activation::kSilu, 1, 0.731059}, {Activation::kSilu, -1, -0.268941},
                         {Activation::kSquaredRelu, 3, 9}, {Activation::kSquaredRelu, -3, 0},
                         {Activation::kRelu, 2.5, 2.5},    {Activation::kRelu, -2.5, 0}};
  for (const Known& known : table) {
    for (const Kernels<float>& kernels : runnable_kernels()) {
      const float x = static_cast<float>(known.x);
      float y = 0;
      kernels.activation_forward({.activation = known.activation}, &x, &y);
      EXPECT_NEAR(y, known.y, 1e-6) << kernels.name << ' ' << known.x;
    }
  }
}

TEST(Activation, NanStaysNan) {  // a training that went wrong must be seen
  const float x = std::numeric_limits<float>::quiet_NaN();
  for (const ActivationShape& s : shapes()) {
    if (s.gated) continue;
    for (const Kernels<float>& kernels : runnable_kernels()) {
      float y = 0;
      kernels.activation_forward({.activation = s.activation}, &x, &y);
      EXPECT_TRUE(std::isnan(y)) << kernels.name << ' ' << name(s);
    }
  }
}

}  // namespace
}  // namespace executor::cpu
