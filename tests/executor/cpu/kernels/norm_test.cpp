#include "tests/executor/cpu/kernel_arrays.h"

namespace executor::cpu {
namespace {

struct Case {
  NormShape shape;
  bool bias;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const hw_models::NormKind kind : {hw_models::NormKind::kLayerNorm, hw_models::NormKind::kRmsNorm}) {
    for (const std::int64_t columns : {1, 7, 8, 13, 64, 1000}) {
      for (const bool bias : {false, true}) all.push_back({{.rows = 3, .columns = columns, .kind = kind}, bias});
    }
  }
  return all;
}

std::string name(const Case& c) {
  return std::string(c.shape.kind == hw_models::NormKind::kLayerNorm ? "LayerNorm" : "RMSNorm") +
         (c.bias ? " with bias, " : ", ") + std::to_string(c.shape.columns) + " columns";
}

TEST(Norm, ForwardLikePlainLoops) {
  for (const Case& c : cases()) {
    const std::int64_t n = c.shape.columns;
    const std::vector<Values> values = {random_values(3 * n, 1), random_values(n, 2), random_values(n, 3),
                                        unset(3 * n)};
    expect_like_plain_loops(name(c), values, 3e-6, [&](const auto& kernels, auto& a) {
      kernels.norm_forward(c.shape, a[0], a[1], c.bias ? a[2] : nullptr, a[3]);
    });
    expect_like_plain_loops(name(c) + ", in place", values, 3e-6, [&](const auto& kernels, auto& a) {
      kernels.norm_forward(c.shape, a[0], a[1], c.bias ? a[2] : nullptr, a[0]);
    });
  }
}

TEST(Norm, BackwardLikePlainLoops) {
  for (const Case& c : cases()) {
    if (c.shape.columns == 1) continue;  // the gradient is 0 up to rounding
    const std::int64_t n = c.shape.columns;
    const std::vector<Values> values = {random_values(3 * n, 1), random_values(n, 2),
                                        random_values(3 * n, 3), unset(3 * n),
                                        random_values(n, 4),     random_values(n, 5)};
    expect_like_plain_loops(name(c), values, 5e-6, [&](const auto& kernels, auto& a) {
      kernels.norm_backward(c.shape, a[0], a[1], a[2], a[3], a[4], c.bias ? a[5] : nullptr);
      kernels.norm_backward(c.shape, a[0], a[1], a[2], a[2], a[4], c.bias ? a[5] : nullptr);  // dx is dy
    });
  }
}

TEST(Norm, BackwardLikeFiniteDifferences) {
  const Kernels<double> kernels = float64::make_table();
  for (const Case& c : cases()) {
    if (c.shape.columns > 64) continue;
    const std::int64_t n = c.shape.columns;
    const auto columns = static_cast<std::size_t>(n);
    const Values x = random_values(3 * n, 1), gain = random_values(n, 2), bias = random_values(n, 3);
    const Values weights = random_values(3 * n, 4);
    Values dx(3 * columns), d_gain(columns), d_bias(columns);
    kernels.norm_backward(c.shape, x.data(), gain.data(), weights.data(), dx.data(), d_gain.data(),
                          c.bias ? d_bias.data() : nullptr);
    const auto forward = [&](const Values& input, const Values& gains, const Values& biases) {
      Values y(3 * columns);
      kernels.norm_forward(c.shape, input.data(), gains.data(), c.bias ? biases.data() : nullptr, y.data());
      return y;
    };
    expect_gradient(name(c) + " dx", x, weights, dx, [&](const Values& v) { return forward(v, gain, bias); });
    expect_gradient(name(c) + " gain", gain, weights, d_gain, [&](const Values& v) { return forward(x, v, bias); });
    expect_gradient(name(c) + " bias", bias, weights, d_bias, [&](const Values& v) { return forward(x, gain, v); });
  }
}

TEST(Norm, ConstantRowHasNoSpread) {
  const NormShape shape{.rows = 1, .columns = 11};
  const std::vector<float> x(11, 3.0f), gain(11, 2.0f), bias(11, 0.5f);
  for (const Kernels<float>& kernels : runnable_kernels()) {
    std::vector<float> y(11);
    kernels.norm_forward(shape, x.data(), gain.data(), bias.data(), y.data());
    EXPECT_THAT(y, testing::Each(0.5f)) << kernels.name;
  }
}

}  // namespace
}  // namespace executor::cpu
