// What the kernels of the CPU backend are measured against: Eigen's own products of contiguous matrices and plain
// loops, both compiled with the kernels' options.
#pragma once

#include <cstdint>

#include "executor/cpu/kernels.h"

namespace rivals {

/// C[m,n] = op(A) op(B), contiguous; transposed operands are stored the other way round.
void eigen_product(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a, bool transpose_b, const float* a,
                   const float* b, float* c);

executor::cpu::Kernels<float> plain_loops();

}  // namespace rivals
