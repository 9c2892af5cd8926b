#include "tests/executor/cpu/kernel_arrays.h"

namespace executor::cpu {
namespace {

constexpr std::int32_t kVocabulary = 10;
// The whole table, its first and last part, one row, and a slice that lies in the padding.
const std::vector<EmbeddingShape> kShapes = {{.tokens = 20, .hidden = 5, .first_row = 0, .rows = 10},
                                             {.tokens = 20, .hidden = 16, .first_row = 0, .rows = 6},
                                             {.tokens = 20, .hidden = 9, .first_row = 6, .rows = 6},
                                             {.tokens = 20, .hidden = 1, .first_row = 3, .rows = 1},
                                             {.tokens = 20, .hidden = 8, .first_row = 12, .rows = 6}};

TEST(Embedding, LikePlainLoops) {
  const std::vector<std::int32_t> ids = random_ids(20, kVocabulary, 1);
  for (const EmbeddingShape& s : kShapes) {
    const std::vector<Values> values = {random_values(s.rows * s.hidden, 2), unset(20 * s.hidden)};
    expect_like_plain_loops("embedding", values, 1e-6, [&](const auto& kernels, auto& a) {
      kernels.embedding_forward(s, ids.data(), a[0], a[1]);
      kernels.embedding_backward(s, ids.data(), a[1], a[0]);
    });
  }
}

TEST(Embedding, SlicesAddUpToTheWholeTable) {
  const std::vector<std::int32_t> ids = {9, 0, 4, 4, 5};
  const Values table = random_values(10 * 3, 1);
  const std::vector<float> narrow(table.begin(), table.end());
  for (const Kernels<float>& kernels : runnable_kernels()) {
    std::vector<float> whole(15), low(15), high(15);
    kernels.embedding_forward({5, 3, 0, 10}, ids.data(), narrow.data(), whole.data());
    kernels.embedding_forward({5, 3, 0, 5}, ids.data(), narrow.data(), low.data());
    kernels.embedding_forward({5, 3, 5, 5}, ids.data(), narrow.data() + 15, high.data());
    kernels.add(15, low.data(), high.data(), low.data());
    EXPECT_EQ(low, whole) << kernels.name;
  }
}

TEST(Embedding, BackwardLikeFiniteDifferences) {
  const Kernels<double> kernels = float64::make_table();
  const std::vector<std::int32_t> ids = random_ids(20, kVocabulary, 1);
  for (const EmbeddingShape& s : kShapes) {
    const Values weights = random_values(20 * s.hidden, 3), table = random_values(s.rows * s.hidden, 2);
    Values gradient(table.size());
    kernels.embedding_backward(s, ids.data(), weights.data(), gradient.data());
    expect_gradient("embedding", table, weights, gradient, [&](const Values& t) {
      Values x(weights.size());
      kernels.embedding_forward(s, ids.data(), t.data(), x.data());
      return x;
    });
  }
}

// Two sequences of 6; the second half of the residual stream begins at row 6, a third of it at row 4.
const std::vector<PositionShape> kPositions = {{.rows = 12, .hidden = 5, .sequence = 6, .first_row = 0},
                                               {.rows = 6, .hidden = 8, .sequence = 6, .first_row = 6},
                                               {.rows = 4, .hidden = 11, .sequence = 6, .first_row = 4}};

TEST(Position, LikePlainLoops) {
  for (const PositionShape& s : kPositions) {
    const std::vector<Values> values = {random_values(s.rows * s.hidden, 1), random_values(s.sequence * s.hidden, 2),
                                        unset(s.rows * s.hidden)};
    expect_like_plain_loops("position", values, 1e-6, [&](const auto& kernels, auto& a) {
      kernels.position_add(s, a[0], a[1], a[2]);
      kernels.position_add(s, a[0], a[1], a[0]);
      kernels.position_gradient(s, a[0], a[1]);
    });
  }
}

TEST(Position, GradientLikeFiniteDifferences) {
  const Kernels<double> kernels = float64::make_table();
  for (const PositionShape& s : kPositions) {
    const Values x = random_values(s.rows * s.hidden, 1), table = random_values(s.sequence * s.hidden, 2);
    const Values weights = random_values(s.rows * s.hidden, 3);
    Values gradient(table.size());
    kernels.position_gradient(s, weights.data(), gradient.data());
    expect_gradient("position", table, weights, gradient, [&](const Values& t) {
      Values y(x.size());
      kernels.position_add(s, x.data(), t.data(), y.data());
      return y;
    });
  }
}

}  // namespace
}  // namespace executor::cpu
