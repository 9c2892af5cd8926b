#include "executor/parameter_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace executor {
namespace {

using strategies::TensorSlice;
using ::testing::Each;
using ::testing::ElementsAre;

TensorSlice slice_of(std::string parameter, std::vector<std::int64_t> shape, int axis = -1,
                     std::vector<std::int64_t> parts = {}) {
  TensorSlice slice;
  slice.parameter = std::move(parameter);
  slice.shape = std::move(shape);
  slice.sharded_axis = axis;
  slice.parts = std::move(parts);
  return slice;
}

TEST(ParameterSlice, RunsOfHandSolvedShapes) {
  const TensorSlice whole = slice_of("norm", {6});
  EXPECT_THAT(slice_runs(whole, 1, 2), ElementsAre(SliceRun{0, 0, 6}));
  const TensorSlice rows = slice_of("rows", {4, 3}, 0);
  EXPECT_THAT(slice_runs(rows, 1, 2), ElementsAre(SliceRun{6, 0, 6}));
  const TensorSlice columns = slice_of("columns", {2, 4}, 1);
  EXPECT_THAT(slice_runs(columns, 1, 2), ElementsAre(SliceRun{2, 0, 2}, SliceRun{6, 2, 2}));
  // Four rows of queries, two of keys, two of values.
  const TensorSlice parts = slice_of("qkv", {8, 3}, 0, {4, 2, 2});
  EXPECT_THAT(slice_runs(parts, 1, 2), ElementsAre(SliceRun{6, 0, 6}, SliceRun{15, 6, 3}, SliceRun{21, 9, 3}));
}

TEST(ParameterSlice, ShardsCoverTheWholeOnce) {
  const TensorSlice slice = slice_of("p", {3, 24, 5}, 1, {16, 4, 4});
  std::vector<int> covered(static_cast<std::size_t>(whole_elements(slice)));
  for (int tensor = 0; tensor < 4; ++tensor) {
    std::int64_t local = 0;
    for (const SliceRun& run : slice_runs(slice, tensor, 4)) {
      EXPECT_EQ(run.local, local);
      local += run.length;
      for (std::int64_t i = 0; i < run.length; ++i) ++covered[static_cast<std::size_t>(run.global + i)];
    }
    EXPECT_EQ(local, 3 * 6 * 5);
  }
  EXPECT_THAT(covered, Each(1));
}

std::vector<float> initial(const TensorSlice& slice, int tensor, int tensors, std::uint64_t seed, std::size_t size) {
  std::vector<float> values(size, -1.0F);
  initial_values(slice, tensor, tensors, 4, seed, values);
  return values;
}

TEST(ParameterSlice, ShardsStartWithTheValuesOfTheWhole) {
  const TensorSlice slice = slice_of("layers.0.attention.qkv.weight", {8, 3}, 0, {4, 2, 2});
  const std::vector<float> whole = initial(slice, 0, 1, 7, 24);
  for (int tensor = 0; tensor < 2; ++tensor) {
    const std::vector<float> shard = initial(slice, tensor, 2, 7, 12);
    for (const SliceRun& run : slice_runs(slice, tensor, 2)) {
      for (std::int64_t i = 0; i < run.length; ++i) {
        EXPECT_EQ(shard[static_cast<std::size_t>(run.local + i)], whole[static_cast<std::size_t>(run.global + i)]);
      }
    }
  }
}

TEST(ParameterSlice, ValuesDependOnSeedAndName) {
  const TensorSlice a = slice_of("a", {8, 3}), b = slice_of("b", {8, 3});
  EXPECT_EQ(initial(a, 0, 1, 1, 24), initial(a, 0, 1, 1, 24));
  EXPECT_NE(initial(a, 0, 1, 1, 24), initial(a, 0, 1, 2, 24));
  EXPECT_NE(initial(a, 0, 1, 1, 24), initial(b, 0, 1, 1, 24));
}

TEST(ParameterSlice, NormsStartAsTheIdentityBiasesAtZero) {
  EXPECT_THAT(initial(slice_of("layers.0.mlp.norm", {8}), 0, 1, 1, 8), ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
  EXPECT_THAT(initial(slice_of("final_norm", {4}), 0, 1, 1, 4), Each(1));
  EXPECT_THAT(initial(slice_of("layers.0.mlp.up.bias", {8}), 0, 1, 1, 8), Each(0));
}

TEST(ParameterSlice, MatricesHaveTheDeviationOfGpt2) {
  const std::vector<float> values = initial(slice_of("w", {100, 100}), 0, 1, 1, 10'000);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 1e4;
  double squares = 0;
  for (const float value : values) squares += double{value} * double{value};
  EXPECT_NEAR(mean, 0, 5 * 0.02 / 100);  // five standard errors of 10,000 draws
  EXPECT_NEAR(std::sqrt(squares / 1e4), 0.02, 5 * 0.02 / std::sqrt(2e4));
}

}  // namespace
}  // namespace executor
