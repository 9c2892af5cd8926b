#include "executor/cpu/kernels/lanes.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

/// xhat = (x - mean) inverse_deviation; mean = 0 for RMSNorm.
struct Statistics {
  Scalar mean, inverse_deviation;
};

Statistics statistics(const NormShape& shape, const Scalar* x) {
  const auto columns = static_cast<Scalar>(shape.columns);
  Scalar mean = 0;
  if (shape.kind == hw_models::NormKind::kLayerNorm) {
    Lanes sums{};
    for_parts(shape.columns, [&](auto part, std::int64_t i) { sums += part.load(x + i); });
    mean = total(sums) / columns;
  }
  Lanes squares{};
  for_parts(shape.columns, [&](auto part, std::int64_t i) {
    const Lanes centred = part.load(x + i, mean) - mean;  // a tail's unused lanes are zero
    squares += centred * centred;
  });
  const double variance = static_cast<double>(total(squares) / columns);
  return {mean, static_cast<Scalar>(1 / __builtin_sqrt(variance + shape.epsilon))};
}

void norm_forward(const NormShape& shape, const Scalar* x, const Scalar* gain, const Scalar* bias, Scalar* y) {
  for (std::int64_t row = 0; row < shape.rows; ++row, x += shape.columns, y += shape.columns) {
    const Statistics s = statistics(shape, x);
    for_parts(shape.columns, [&](auto part, std::int64_t i) {
      Lanes out = (part.load(x + i) - s.mean) * s.inverse_deviation * part.load(gain + i);
      if (bias != nullptr) out += part.load(bias + i);
      part.store(y + i, out);
    });
  }
}

/// With g = dy gain and means over the row: dx = (g - mean(g) - xhat mean(g xhat)) inverse_deviation; RMSNorm has no
/// mean(g).
void norm_backward_row(const NormShape& shape, const Scalar* x, const Scalar* gain, const Scalar* dy, Scalar* dx,
                       Scalar* gain_gradient, Scalar* bias_gradient) {
  const Statistics s = statistics(shape, x);
  const auto normal = [&](auto part, std::int64_t i) { return (part.load(x + i) - s.mean) * s.inverse_deviation; };
  Lanes sums{}, products{};
  for_parts(shape.columns, [&](auto part, std::int64_t i) {
    const Lanes g = part.load(dy + i) * part.load(gain + i);  // zero in a tail's unused lanes
    sums += g;
    products += g * normal(part, i);
  });
  const auto columns = static_cast<Scalar>(shape.columns);
  const Scalar mean = shape.kind == hw_models::NormKind::kLayerNorm ? total(sums) / columns : 0;
  const Scalar projection = total(products) / columns;
  for_parts(shape.columns, [&](auto part, std::int64_t i) {
    const Lanes d = part.load(dy + i), xhat = normal(part, i);
    part.store(gain_gradient + i, part.load(gain_gradient + i) + d * xhat);
    if (bias_gradient != nullptr) part.store(bias_gradient + i, part.load(bias_gradient + i) + d);
    part.store(dx + i, (d * part.load(gain + i) - mean - xhat * projection) * s.inverse_deviation);
  });
}

void norm_backward(const NormShape& shape, const Scalar* x, const Scalar* gain, const Scalar* dy, Scalar* dx,
                   Scalar* gain_gradient, Scalar* bias_gradient) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const std::int64_t offset = row * shape.columns;
    norm_backward_row(shape, x + offset, gain, dy + offset, dx + offset, gain_gradient, bias_gradient);
  }
}

}  // namespace

void add_norm(Kernels<Scalar>& table) {
  table.norm_forward = norm_forward;
  table.norm_backward = norm_backward;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
