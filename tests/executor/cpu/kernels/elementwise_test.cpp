#include "tests/executor/cpu/kernel_arrays.h"

namespace executor::cpu {
namespace {

constexpr std::int64_t kCounts[] = {1, 7, 8, 9, 64, 1003};

TEST(Elementwise, AddScaleZeroCopy) {
  for (const std::int64_t n : kCounts) {
    const std::vector<Values> values = {random_values(n, 1), random_values(n, 2), unset(n)};
    const std::string what = std::to_string(n) + " elements";
    expect_like_plain_loops("add " + what, values, 1e-7,
                            [&](const auto& kernels, auto& a) { kernels.add(n, a[0], a[1], a[2]); });
    expect_like_plain_loops("add in place " + what, values, 1e-7, [&](const auto& kernels, auto& a) {
      kernels.add(n, a[0], a[1], a[0]);
      kernels.add(n, a[0], a[1], a[1]);
    });
    expect_like_plain_loops("scale " + what, values, 1e-7,
                            [&](const auto& kernels, auto& a) { kernels.scale(n, 0.75f, a[0]); });
    expect_like_plain_loops("zero " + what, values, 1e-7, [&](const auto& kernels, auto& a) { kernels.zero(n, a[2]); });
    expect_like_plain_loops("copy " + what, values, 1e-7,
                            [&](const auto& kernels, auto& a) { kernels.copy(n, a[0], a[2]); });
  }
}

TEST(Elementwise, BiasAndResidual) {
  for (const std::int64_t columns : {1, 8, 13}) {
    const std::vector<Values> values = {random_values(5 * columns, 1), random_values(columns, 2),
                                        random_values(5 * columns, 3), unset(5 * columns)};
    const std::string what = std::to_string(columns) + " columns";
    expect_like_plain_loops("bias add " + what, values, 2e-7,
                            [&](const auto& kernels, auto& a) { kernels.bias_add(5, columns, a[1], a[0]); });
    expect_like_plain_loops("bias gradient " + what, values, 1e-6,
                            [&](const auto& kernels, auto& a) { kernels.bias_gradient(5, columns, a[0], a[1]); });
    for (const bool bias : {true, false}) {
      expect_like_plain_loops("residual add " + what, values, 2e-7, [&](const auto& kernels, auto& a) {
        kernels.residual_add(5, columns, a[0], bias ? a[1] : nullptr, a[2], a[3]);
        kernels.residual_add(5, columns, a[0], bias ? a[1] : nullptr, a[2], a[0]);
        kernels.residual_add(5, columns, a[0], bias ? a[1] : nullptr, a[2], a[2]);
      });
    }
  }
}

TEST(Elementwise, BiasGradientLikeFiniteDifferences) {
  const Kernels<double> kernels = float64::make_table();
  const Values x = random_values(5 * 11, 1), weights = random_values(5 * 11, 2);
  Values gradient(11);
  kernels.bias_gradient(5, 11, weights.data(), gradient.data());
  expect_gradient("bias", random_values(11, 3), weights, gradient, [&](const Values& bias) {
    Values y = x;
    kernels.bias_add(5, 11, bias.data(), y.data());
    return y;
  });
}

TEST(Elementwise, SquaredNorm) {
  for (const std::int64_t n : kCounts) {
    const Values x = random_values(n, 1);
    const std::vector<float> narrow(x.begin(), x.end());
    const double expected = reference::squared_norm(n, narrow.data());
    EXPECT_NEAR(float64::make_table().squared_norm(n, x.data()), reference::squared_norm(n, x.data()), 1e-12);
    for (const Kernels<float>& kernels : runnable_kernels()) {
      EXPECT_NEAR(kernels.squared_norm(n, narrow.data()), expected, 1e-12 * expected) << kernels.name << ' ' << n;
    }
  }
}

TEST(Elementwise, SquaredNormOfManySmallValuesLosesNothing) {
  // 2^20 values of 2^-12 beside a 1: summed in single precision from the left, the small ones would vanish.
  std::vector<float> x(1 << 20, 1.0f / 4096);
  x[0] = 1;
  const auto n = static_cast<std::int64_t>(x.size());
  for (const Kernels<float>& kernels : runnable_kernels()) {
    EXPECT_DOUBLE_EQ(kernels.squared_norm(n, x.data()), 1 + 1.0 / 16 - 1.0 / (1 << 24)) << kernels.name;
  }
}

}  // namespace
}  // namespace executor::cpu
