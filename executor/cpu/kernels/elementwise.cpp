#include "executor/cpu/kernels/lanes.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

void add(std::int64_t elements, const Scalar* a, const Scalar* b, Scalar* sum) {
  for_parts(elements, [&](auto part, std::int64_t i) { part.store(sum + i, part.load(a + i) + part.load(b + i)); });
}

void bias_add(std::int64_t rows, std::int64_t columns, const Scalar* bias, Scalar* x) {
  for (std::int64_t row = 0; row < rows; ++row) add(columns, x + row * columns, bias, x + row * columns);
}

void residual_add(std::int64_t rows, std::int64_t columns, const Scalar* x, const Scalar* bias, const Scalar* stream,
                  Scalar* sum) {
  if (bias == nullptr) return add(rows * columns, x, stream, sum);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t offset = row * columns;
    for_parts(columns, [&](auto part, std::int64_t i) {
      part.store(sum + offset + i, part.load(x + offset + i) + part.load(bias + i) + part.load(stream + offset + i));
    });
  }
}

void bias_gradient(std::int64_t rows, std::int64_t columns, const Scalar* dy, Scalar* gradient) {
  for (std::int64_t row = 0; row < rows; ++row) add(columns, gradient, dy + row * columns, gradient);
}

void scale(std::int64_t elements, Scalar factor, Scalar* x) {
  for_parts(elements, [&](auto part, std::int64_t i) { part.store(x + i, factor * part.load(x + i)); });
}

void zero(std::int64_t elements, Scalar* x) {
  __builtin_memset(x, 0, static_cast<std::size_t>(elements) * sizeof(Scalar));
}

void copy(std::int64_t elements, const Scalar* from, Scalar* to) {
  __builtin_memcpy(to, from, static_cast<std::size_t>(elements) * sizeof(Scalar));
}

double squared_norm(std::int64_t elements, const Scalar* x) {
  using Wide [[gnu::vector_size(kLanes * sizeof(double))]] = double;
  Wide sums{};
  for_parts(elements, [&](auto part, std::int64_t i) {
    const Wide wide = __builtin_convertvector(part.load(x + i), Wide);
    sums += wide * wide;
  });
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

void add_elementwise(Kernels<Scalar>& table) {
  table.add = add;
  table.bias_add = bias_add;
  table.residual_add = residual_add;
  table.bias_gradient = bias_gradient;
  table.scale = scale;
  table.zero = zero;
  table.copy = copy;
  table.squared_norm = squared_norm;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
