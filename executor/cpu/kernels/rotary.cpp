#include "executor/cpu/kernels/lanes.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

/// Every pair (first half, second half) is turned by its angle; `sign` = -1 turns it back, which is the gradient.
void rotate(const RotaryShape& shape, const Scalar* cosines, const Scalar* sines, Scalar* x, Scalar sign) {
  const std::int64_t half = shape.head_dim / 2;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const Scalar* c = cosines + row % shape.sequence * half;
    const Scalar* s = sines + row % shape.sequence * half;
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      Scalar* first = x + row * shape.stride + head * shape.head_dim;
      Scalar* second = first + half;
      for_parts(half, [&](auto part, std::int64_t i) {
        const Lanes a = part.load(first + i), b = part.load(second + i);
        const Lanes cosine = part.load(c + i), sine = sign * part.load(s + i);
        part.store(first + i, a * cosine - b * sine);
        part.store(second + i, b * cosine + a * sine);
      });
    }
  }
}

void rotary_forward(const RotaryShape& shape, const Scalar* cosines, const Scalar* sines, Scalar* x) {
  rotate(shape, cosines, sines, x, 1);
}

void rotary_backward(const RotaryShape& shape, const Scalar* cosines, const Scalar* sines, Scalar* gradient) {
  rotate(shape, cosines, sines, gradient, -1);
}

}  // namespace

void add_rotary(Kernels<Scalar>& table) {
  table.rotary_forward = rotary_forward;
  table.rotary_backward = rotary_backward;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
