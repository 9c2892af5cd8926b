// Which elements of a whole parameter one tensor rank holds, and what they are before the first step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategies/program/program.h"

namespace executor {

/// `length` elements from `global` on of the whole parameter lie from `local` on in the rank's buffer.
struct SliceRun {
  std::int64_t global = 0, local = 0, length = 0;
  bool operator==(const SliceRun&) const = default;
};

/// In ascending order of `local`; they cover the buffer.
std::vector<SliceRun> slice_runs(const strategies::TensorSlice& slice, int tensor, int tensors);

/// Elements of the whole parameter.
std::int64_t whole_elements(const strategies::TensorSlice& slice);

/// A function of seed, parameter name and global index alone: norms start as the identity (gain 1, bias 0), biases at
/// 0, tables and matrices as normal numbers of deviation 0.02 (GPT-2; Radford et al. 2019 and its published code).
void initial_values(const strategies::TensorSlice& slice, int tensor, int tensors, std::int64_t hidden,
                    std::uint64_t seed, std::span<float> values);

}  // namespace executor
