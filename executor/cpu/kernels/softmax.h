// Rows of scores, for the kernels of attention.
#pragma once

#include "executor/cpu/kernels/lanes.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {

inline Scalar score_scale(std::int64_t head_dim) {
  return static_cast<Scalar>(1 / __builtin_sqrt(static_cast<double>(head_dim)));
}

inline void zero_range(Scalar* x, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) x[i] = 0;
}

/// x = softmax(scale x) -> the logarithm of the sum of e^(scale x)
inline double softmax(std::int64_t elements, Scalar scale, Scalar* x) {
  const Scalar maximum = maximum_of(elements, x);
  Lanes sums{};
  for_parts(elements, [&](auto part, std::int64_t i) {
    part.store(x + i, exponential((part.load(x + i) - maximum) * scale));
    sums += part.load(x + i);  // a tail's unused lanes are zero
  });
  const Scalar sum = total(sums), inverse = 1 / sum;
  for_parts(elements, [&](auto part, std::int64_t i) { part.store(x + i, part.load(x + i) * inverse); });
  return static_cast<double>(maximum) * static_cast<double>(scale) + __builtin_log(static_cast<double>(sum));
}

inline Scalar dot(std::int64_t elements, const Scalar* a, const Scalar* b) {
  Lanes sums{};
  for_parts(elements, [&](auto part, std::int64_t i) { sums += part.load(a + i) * part.load(b + i); });
  return total(sums);
}

/// Gradient of the scores before scaling: dS = P (dP - sum_j dP_j P_j) scale, and sum_j dP_j P_j = dO . O. In place of
/// dP.
inline void softmax_backward(std::int64_t elements, Scalar scale, const Scalar* p, Scalar row_sum, Scalar* dp) {
  for_parts(elements, [&](auto part, std::int64_t i) {
    part.store(dp + i, part.load(p + i) * (part.load(dp + i) - row_sum) * scale);
  });
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
