#include "executor/cpu/kernels/lanes.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

void sgd(std::int64_t elements, double learning_rate, double weight_decay, const Scalar* gradient, Scalar* weights) {
  const auto kept = static_cast<Scalar>(1 - learning_rate * weight_decay);
  const auto rate = static_cast<Scalar>(learning_rate);
  for_parts(elements, [&](auto part, std::int64_t i) {
    part.store(weights + i, kept * part.load(weights + i) - rate * part.load(gradient + i));
  });
}

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// w = (1 - rate decay) w - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
void adamw(const AdamWShape& shape, const Scalar* gradient, Scalar* momentum, Scalar* variance, Scalar* weights) {
  const auto step = static_cast<double>(shape.step);
  const double correction1 = 1 - __builtin_pow(shape.beta1, step), correction2 = 1 - __builtin_pow(shape.beta2, step);
  const auto beta1 = static_cast<Scalar>(shape.beta1), beta2 = static_cast<Scalar>(shape.beta2);
  const auto rest1 = static_cast<Scalar>(1 - shape.beta1), rest2 = static_cast<Scalar>(1 - shape.beta2);
  const auto kept = static_cast<Scalar>(1 - shape.learning_rate * shape.weight_decay);
  const auto rate = static_cast<Scalar>(shape.learning_rate / correction1);
  const auto widen = static_cast<Scalar>(1 / __builtin_sqrt(correction2));
  const auto epsilon = static_cast<Scalar>(shape.epsilon);
  for_parts(shape.elements, [&](auto part, std::int64_t i) {
    const Lanes g = part.load(gradient + i);
    const Lanes m = beta1 * part.load(momentum + i) + rest1 * g;
    const Lanes v = beta2 * part.load(variance + i) + rest2 * (g * g);
    part.store(momentum + i, m);
    part.store(variance + i, v);
    part.store(weights + i, kept * part.load(weights + i) - rate * m / (root(v) * widen + epsilon));
  });
}

}  // namespace

void add_optimizer(Kernels<Scalar>& table) {
  table.sgd = sgd;
  table.adamw = adamw;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
