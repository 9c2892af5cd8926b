// The kernel sources are compiled several times, each time for another instruction set or number format. Everything
// they define lives in a namespace named after the build, Eigen included: an inline function of one build must never
// be linked into another, or a processor without AVX2 would meet AVX2 code. For the same reason they call nothing of
// the standard library that the compiler might not inline.
//
// TRAINYARD_KERNEL_BUILD and TRAINYARD_KERNEL_SCALAR come from CMake; the defaults are the build every machine runs.
#pragma once

#ifndef TRAINYARD_KERNEL_BUILD
#define TRAINYARD_KERNEL_BUILD baseline
#define TRAINYARD_KERNEL_SCALAR float
#endif

#include "executor/cpu/kernels.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {

using Scalar = TRAINYARD_KERNEL_SCALAR;

void add_matmul(Kernels<Scalar>& table);
void add_attention(Kernels<Scalar>& table);
void add_attention_blocks(Kernels<Scalar>& table);
void add_norm(Kernels<Scalar>& table);
void add_activation(Kernels<Scalar>& table);
void add_rotary(Kernels<Scalar>& table);
void add_elementwise(Kernels<Scalar>& table);
void add_embedding(Kernels<Scalar>& table);
void add_cross_entropy(Kernels<Scalar>& table);
void add_optimizer(Kernels<Scalar>& table);

/// All of the above.
Kernels<Scalar> make_table();

/// For the kernels that consist of products.
void matmul(const MatmulShape& shape, const Scalar* a, const Scalar* b, Scalar* c);

/// Place of `id` among the `count` from `first` on that this rank holds, or -1.
inline std::int64_t local_index(std::int32_t id, std::int64_t first, std::int64_t count) {
  const std::int64_t index = id - first;
  return index >= 0 && index < count ? index : -1;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
