#include "executor/cpu/kernels/lanes.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

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

/// Four numbers, squared in double precision.
constexpr int kWide = 4;
using Narrow [[gnu::vector_size(kWide * sizeof(Scalar))]] = Scalar;
using Wide [[gnu::vector_size(kWide * sizeof(double))]] = double;

[[gnu::always_inline]] inline Wide squares(const Scalar* x) {
  Narrow narrow;
  __builtin_memcpy(&narrow, x, sizeof narrow);
  const Wide wide = __builtin_convertvector(narrow, Wide);
  return wide * wide;
}

double squared_norm(std::int64_t elements, const Scalar* x) {
  Wide even{}, odd{};
  std::int64_t i = 0;
  for (; i + 2 * kWide <= elements; i += 2 * kWide) {
    even += squares(x + i);
    odd += squares(x + i + kWide);
  }
  even += odd;
  double sum = (even[0] + even[2]) + (even[1] + even[3]);
  for (; i < elements; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
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
