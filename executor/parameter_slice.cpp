#include "executor/parameter_slice.h"

#include <algorithm>
#include <cstddef>

#include "executor/random.h"

namespace executor {
namespace {

using strategies::TensorSlice;

constexpr double kDeviation = 0.02;

std::int64_t product(std::span<const std::int64_t> extents) {
  std::int64_t result = 1;
  for (const std::int64_t extent : extents) result *= extent;
  return result;
}

bool is_norm(const TensorSlice& slice) { return slice.parameter.find("norm") != std::string::npos; }

}  // namespace

std::int64_t whole_elements(const TensorSlice& slice) { return product(slice.shape); }

std::vector<SliceRun> slice_runs(const TensorSlice& slice, int tensor, int tensors) {
  const std::int64_t all = whole_elements(slice);
  if (slice.sharded_axis < 0) return {{0, 0, all}};
  const std::span<const std::int64_t> shape(slice.shape);
  const auto axis = static_cast<std::size_t>(slice.sharded_axis);
  const std::int64_t outer = product(shape.first(axis)), inner = product(shape.subspan(axis + 1));
  const std::vector<std::int64_t> parts = slice.parts.empty() ? std::vector{shape[axis]} : slice.parts;
  std::vector<SliceRun> runs;
  std::int64_t local = 0;
  for (std::int64_t o = 0; o < outer; ++o) {
    std::int64_t before = o * shape[axis];
    for (const std::int64_t part : parts) {
      const std::int64_t share = part / tensors;
      runs.push_back({(before + tensor * share) * inner, local, share * inner});
      local += share * inner;
      before += part;
    }
  }
  return runs;
}

void initial_values(const TensorSlice& slice, int tensor, int tensors, std::int64_t hidden, std::uint64_t seed,
                    std::span<float> values) {
  if (is_norm(slice)) {
    const auto gains = std::min(values.size(), static_cast<std::size_t>(hidden));
    std::ranges::fill(values.first(gains), 1.0F);
    std::ranges::fill(values.subspan(gains), 0.0F);
    return;
  }
  if (slice.shape.size() < 2) {
    std::ranges::fill(values, 0.0F);
    return;
  }
  const RandomStream stream(seed, slice.parameter);
  for (const SliceRun& run : slice_runs(slice, tensor, tensors)) {
    for (std::int64_t i = 0; i < run.length; ++i) {
      values[static_cast<std::size_t>(run.local + i)] =
          static_cast<float>(kDeviation * stream.normal(static_cast<std::uint64_t>(run.global + i)));
    }
  }
}

}  // namespace executor
