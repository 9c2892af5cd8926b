#include "tests/executor/cpu/kernel_arrays.h"

namespace executor::cpu {
namespace {

/// Strides wider than the rows; a masked and an open block, one and several blocks of rows, grouped heads.
AttentionBlock block(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim, std::int64_t queries,
                     std::int64_t keys, std::int64_t seen) {
  return {.heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .queries = queries,
          .keys = keys,
          .seen = seen,
          .query_stride = heads * head_dim + 3,
          .key_stride = 2 * kv_heads * head_dim,
          .query_gradient_stride = heads * head_dim + 1,
          .key_gradient_stride = 2 * kv_heads * head_dim + 5};
}

const std::vector<AttentionBlock> kBlocks = {
    block(1, 1, 1, 1, 1, 1),
    block(2, 2, 4, 5, 5, 1),
    block(4, 2, 3, 5, 9, 9),
    block(4, 1, 8, 7, 20, 14),
    block(2, 1, 16, kAttentionRows + 1, kAttentionRows + 1, 1),
    block(2, 2, 12, kAttentionRows + 17, 3 * kAttentionRows, 2 * kAttentionRows),
};

std::string name(const AttentionBlock& b) {
  return std::to_string(b.queries) + " queries, " + std::to_string(b.keys) + " keys, " + std::to_string(b.seen) +
         " seen, heads " + std::to_string(b.heads) + "/" + std::to_string(b.kv_heads) + " x " +
         std::to_string(b.head_dim);
}

/// queries, keys and values, context, log-sums
std::vector<Values> operands(const AttentionBlock& b) {
  return {random_values(b.queries * b.query_stride, 1), random_values(b.keys * b.key_stride, 2),
          unset(b.queries * b.columns()), unset(b.queries * b.heads)};
}

template <class T, class Arrays>
void forward(const Kernels<T>& kernels, const AttentionBlock& b, Arrays& a) {
  std::vector<T> workspace(static_cast<std::size_t>(attention_workspace(b)));
  kernels.attention_block_forward(b, a[0], a[1], a[1] + b.key_stride / 2, a[2], a[3], workspace.data());
}

TEST(AttentionBlocks, ForwardLikePlainLoops) {
  for (const AttentionBlock& b : kBlocks) {
    expect_like_plain_loops(name(b), operands(b), 3e-6, [&](const auto& kernels, auto& a) { forward(kernels, b, a); });
  }
}

TEST(AttentionBlocks, BackwardLikePlainLoops) {
  for (const AttentionBlock& b : kBlocks) {
    std::vector<Values> values = operands(b);
    values.push_back(random_values(b.queries * b.columns(), 3));
    values.push_back(random_values(b.queries * b.query_gradient_stride, 4));  // added to
    values.push_back(random_values(b.keys * b.key_gradient_stride, 5));
    values.push_back(random_values(b.keys * b.key_gradient_stride, 6));
    expect_like_plain_loops(name(b), values, 6e-6, [&](const auto& kernels, auto& a) {
      using T = std::remove_reference_t<decltype(*a[0])>;
      std::vector<T> workspace(static_cast<std::size_t>(2 * attention_workspace(b)));
      forward(kernels, b, a);
      kernels.attention_block_backward(b, a[0], a[1], a[1] + b.key_stride / 2, a[2], a[3], a[4], a[5], a[6], a[7],
                                       workspace.data());
    });
  }
}

/// 3 rows of 2 heads, one without keys before, one without keys in the part.
TEST(AttentionBlocks, MergeLikePlainLoops) {
  constexpr double kNone = -1e30;
  Values own = random_values(6, 1), part = random_values(6, 2);
  own[1] = part[4] = kNone;
  expect_like_plain_loops(
      "merge", {random_values(6 * 9, 3), part, random_values(6 * 9, 4), own}, 3e-6,
      [&](const auto& kernels, auto& a) { kernels.attention_merge(3, 2, 9, a[0], a[1], a[2], a[3]); });
}

/// Keys in three runs, put together, are attention over all of them; so are the gradients.
TEST(AttentionBlocks, RunsOfKeysAddUpToTheWhole) {
  const Kernels<double> kernels = float64::make_table();
  const AttentionBlock whole = block(4, 2, 6, 5, 12, 8);
  const std::vector<Values> values = operands(whole);
  const auto size = static_cast<std::size_t>(whole.queries * whole.columns());
  Values workspace(static_cast<std::size_t>(2 * attention_workspace(whole)));
  Values context(size), sums(static_cast<std::size_t>(whole.queries * whole.heads));
  const double *queries = values[0].data(), *keys = values[1].data();
  const std::int64_t half = whole.key_stride / 2;
  kernels.attention_block_forward(whole, queries, keys, keys + half, context.data(), sums.data(), workspace.data());

  Values merged(size), merged_sums(sums.size(), -std::numeric_limits<double>::infinity());
  Values d_out = random_values(static_cast<std::int64_t>(size), 7);
  const auto gradients = [&](Values& dq, Values& dk, Values& dv) {
    dq.assign(static_cast<std::size_t>(whole.queries * whole.query_gradient_stride), 0);
    dk.assign(static_cast<std::size_t>(whole.keys * whole.key_gradient_stride), 0);
    dv = dk;
  };
  Values dq, dk, dv, part_dq, part_dk, part_dv;
  gradients(dq, dk, dv);
  gradients(part_dq, part_dk, part_dv);
  kernels.attention_block_backward(whole, queries, keys, keys + half, context.data(), sums.data(), d_out.data(),
                                   dq.data(), dk.data(), dv.data(), workspace.data());
  std::int64_t first = 0;
  for (const std::int64_t length : {3, 4, 5}) {
    AttentionBlock run = whole;
    run.keys = length;
    run.seen = std::min(length, whole.seen - first);  // the mask begins within the last run
    Values part(size), part_sums(sums.size());
    const double* run_keys = keys + first * whole.key_stride;
    kernels.attention_block_forward(run, queries, run_keys, run_keys + half, part.data(), part_sums.data(),
                                    workspace.data());
    kernels.attention_merge(whole.queries, whole.heads, whole.head_dim, part.data(), part_sums.data(), merged.data(),
                            merged_sums.data());
    const std::int64_t at = first * whole.key_gradient_stride;
    kernels.attention_block_backward(run, queries, run_keys, run_keys + half, context.data(), sums.data(), d_out.data(),
                                     part_dq.data(), part_dk.data() + at, part_dv.data() + at, workspace.data());
    first += length;
  }
  expect_close(context, merged, 1e-12, "context");
  expect_close(sums, merged_sums, 1e-12, "log-sums");
  expect_close(dq, part_dq, 1e-12, "gradient of queries");
  expect_close(dk, part_dk, 1e-12, "gradient of keys");
  expect_close(dv, part_dv, 1e-12, "gradient of values");
}

}  // namespace
}  // namespace executor::cpu
