#include "tests/executor/cpu/kernel_arrays.h"

namespace executor::cpu {
namespace {

// Whole rows, rows with values behind the rotated heads, several sequences in a batch.
const std::vector<RotaryShape> kShapes = {
    {.rows = 1, .sequence = 1, .heads = 1, .head_dim = 2, .stride = 2},
    {.rows = 10, .sequence = 5, .heads = 3, .head_dim = 6, .stride = 18},
    {.rows = 8, .sequence = 8, .heads = 3, .head_dim = 32, .stride = 128},
};

Values random_rows(const RotaryShape& s) { return random_values(s.rows * s.stride, 1); }

template <class T>
struct Angles {
  explicit Angles(const RotaryShape& s)
      : cosines(static_cast<std::size_t>(s.sequence * s.head_dim / 2)), sines(cosines.size()) {
    rotary_table(s.sequence, s.head_dim, 10000, cosines.data(), sines.data());
  }
  std::vector<T> cosines, sines;
};

TEST(Rotary, LikePlainLoops) {
  for (const RotaryShape& s : kShapes) {
    const Angles<double> angles(s);
    const std::vector<Values> values = {angles.cosines, angles.sines, random_rows(s)};
    expect_like_plain_loops("rotary", values, 1e-6,
                            [&](const auto& kernels, auto& a) { kernels.rotary_forward(s, a[0], a[1], a[2]); });
    expect_like_plain_loops("rotary backward", values, 1e-6,
                            [&](const auto& kernels, auto& a) { kernels.rotary_backward(s, a[0], a[1], a[2]); });
  }
}

TEST(Rotary, BackwardLikeFiniteDifferences) {
  const Kernels<double> kernels = float64::make_table();
  for (const RotaryShape& s : kShapes) {
    const Angles<double> angles(s);
    const Values x = random_rows(s), weights = random_values(s.rows * s.stride, 2);
    Values gradient = weights;
    kernels.rotary_backward(s, angles.cosines.data(), angles.sines.data(), gradient.data());
    expect_gradient("rotary", x, weights, gradient, [&](Values y) {
      kernels.rotary_forward(s, angles.cosines.data(), angles.sines.data(), y.data());
      return y;
    });
  }
}

TEST(Rotary, ProductsDependOnDistanceOnly) {
  // The same query and key at every position: q(i) . k(j) is a function of i - j.
  const RotaryShape s{.rows = 6, .sequence = 6, .heads = 2, .head_dim = 8, .stride = 16};
  const Values row = random_values(16, 3);
  Values x;
  for (int i = 0; i < 6; ++i) x.insert(x.end(), row.begin(), row.end());
  const Angles<double> angles(s);
  float64::make_table().rotary_forward(s, angles.cosines.data(), angles.sines.data(), x.data());
  const auto product = [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t c = 0; c < 8; ++c) sum += x[i * 16 + c] * x[j * 16 + 8 + c];
    return sum;
  };
  for (std::size_t i = 1; i < 6; ++i) {
    EXPECT_NEAR(product(i, i), product(0, 0), 1e-12);
    EXPECT_NEAR(product(i, i - 1), product(1, 0), 1e-12);
    EXPECT_GT(std::abs(product(i, 0) - product(0, 0)), 1e-3);
  }
}

}  // namespace
}  // namespace executor::cpu
