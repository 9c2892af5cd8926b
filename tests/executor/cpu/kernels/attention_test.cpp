#include "tests/executor/cpu/kernel_arrays.h"

namespace executor::cpu {
namespace {

// One and several blocks of rows, a last block of one row, grouped and single key-value heads, odd widths, windows
// within a block and over several.
const std::vector<AttentionShape> kShapes = {
    {.batch = 1, .sequence = 1, .heads = 1, .kv_heads = 1, .head_dim = 1},
    {.batch = 2, .sequence = 5, .heads = 2, .kv_heads = 2, .head_dim = 4},
    {.batch = 3, .sequence = 7, .heads = 6, .kv_heads = 2, .head_dim = 3},
    {.batch = 1, .sequence = kAttentionRows, .heads = 2, .kv_heads = 1, .head_dim = 16},
    {.batch = 2, .sequence = kAttentionRows + 1, .heads = 4, .kv_heads = 4, .head_dim = 8},
    {.batch = 1, .sequence = 3 * kAttentionRows + 17, .heads = 4, .kv_heads = 2, .head_dim = 12},
    {.batch = 2, .sequence = 7, .heads = 2, .kv_heads = 1, .head_dim = 4, .window = 3},
    {.batch = 1, .sequence = 2 * kAttentionRows + 5, .heads = 2, .kv_heads = 2, .head_dim = 8, .window = 1},
    {.batch = 1,
     .sequence = 3 * kAttentionRows,
     .heads = 2,
     .kv_heads = 1,
     .head_dim = 12,
     .window = kAttentionRows + 9},
};

std::string name(const AttentionShape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.sequence) + ", heads " + std::to_string(s.heads) + "/" +
         std::to_string(s.kv_heads) + " x " + std::to_string(s.head_dim) + ", window " + std::to_string(s.window);
}

Values random_qkv(const AttentionShape& s) { return random_values(s.tokens() * s.packed_columns(), 1); }
std::int64_t context_size(const AttentionShape& s) { return s.tokens() * s.query_columns(); }

/// Above the diagonal the kernels may leave anything.
template <class T>
void clear_above_diagonal(const AttentionShape& s, T* probabilities) {
  for (std::int64_t row = 0; row < s.batch * s.heads * s.sequence; ++row) {
    for (std::int64_t j = row % s.sequence + 1; j < s.sequence; ++j) probabilities[row * s.sequence + j] = 0;
  }
}

TEST(Attention, ForwardLikePlainLoops) {
  for (const AttentionShape& s : kShapes) {
    for (const bool with_context : {true, false}) {
      expect_like_plain_loops(name(s), {random_qkv(s), unset(s.probabilities()), unset(context_size(s))}, 3e-6,
                              [&](const auto& kernels, auto& a) {
                                kernels.attention_forward(s, a[0], a[1], with_context ? a[2] : nullptr);
                                clear_above_diagonal(s, a[1]);
                              });
    }
  }
}

TEST(Attention, BackwardLikePlainLoops) {
  for (const AttentionShape& s : kShapes) {
    const std::vector<Values> values = {random_qkv(s), unset(s.probabilities()), unset(context_size(s)),
                                        random_values(context_size(s), 2), unset(s.tokens() * s.packed_columns())};
    expect_like_plain_loops(name(s), values, 6e-6, [&](const auto& kernels, auto& a) {
      std::vector<std::remove_reference_t<decltype(*a[0])>> workspace(static_cast<std::size_t>(attention_workspace(s)));
      kernels.attention_forward(s, a[0], a[1], a[2]);
      kernels.attention_backward(s, a[0], a[1], a[2], a[3], a[4], workspace.data());
      clear_above_diagonal(s, a[1]);
    });
  }
}

TEST(Attention, BackwardLikeFiniteDifferences) {
  const Kernels<double> kernels = float64::make_table();
  for (const AttentionShape& s : {kShapes[0], kShapes[1], kShapes[2], kShapes[6]}) {
    const auto size = static_cast<std::size_t>(context_size(s));
    Values probabilities(static_cast<std::size_t>(s.probabilities())), context(size), qkv = random_qkv(s);
    Values gradient(qkv.size()), workspace(static_cast<std::size_t>(attention_workspace(s)));
    const Values weights = random_values(context_size(s), 2);
    kernels.attention_forward(s, qkv.data(), probabilities.data(), context.data());
    kernels.attention_backward(s, qkv.data(), probabilities.data(), context.data(), weights.data(), gradient.data(),
                               workspace.data());
    expect_gradient(name(s), qkv, weights, gradient, [&](const Values& x) {
      Values out(size);
      kernels.attention_forward(s, x.data(), probabilities.data(), out.data());
      return out;
    });
  }
}

TEST(Attention, TensorSliceIsAModelWithFewerHeads) {
  // Heads 2 and 3 with key-value head 1, cut out of a whole projection of 4 heads and 2 key-value heads.
  const AttentionShape whole{.batch = 1, .sequence = 9, .heads = 4, .kv_heads = 2, .head_dim = 4};
  const AttentionShape slice{.batch = 1, .sequence = 9, .heads = 2, .kv_heads = 1, .head_dim = 4};
  const Values qkv = random_qkv(whole);
  Values cut;
  for (std::int64_t token = 0; token < whole.tokens(); ++token) {
    for (const std::int64_t head : {2, 3, 5, 7}) {  // queries 2 and 3, key 1, value 1
      for (std::int64_t i = 0; i < 4; ++i) {
        cut.push_back(qkv[static_cast<std::size_t>(token * whole.packed_columns() + head * 4 + i)]);
      }
    }
  }
  const Kernels<double> kernels = float64::make_table();
  Values p(static_cast<std::size_t>(whole.probabilities())), all(static_cast<std::size_t>(context_size(whole)));
  Values part(static_cast<std::size_t>(context_size(slice)));
  kernels.attention_forward(whole, qkv.data(), p.data(), all.data());
  kernels.attention_forward(slice, cut.data(), p.data(), part.data());
  for (std::size_t token = 0; token < 9; ++token) {
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(part[token * 8 + i], all[token * 16 + 8 + i]) << token << ' ' << i;
  }
}

TEST(Attention, LargeScoresStayFinite) {
  const AttentionShape s{.batch = 1, .sequence = 3, .heads = 1, .kv_heads = 1, .head_dim = 2};
  Values qkv = random_qkv(s);
  for (double& value : qkv) value *= 1e4;
  expect_like_plain_loops("large scores", {qkv, unset(s.probabilities()), unset(context_size(s))}, 3e-6,
                          [&](const auto& kernels, auto& a) {
                            kernels.attention_forward(s, a[0], a[1], a[2]);
                            clear_above_diagonal(s, a[1]);
                          });
}

}  // namespace
}  // namespace executor::cpu
