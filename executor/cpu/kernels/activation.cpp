#include "executor/cpu/kernels/lanes.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

using strategies::Activation;

/// An activation and its derivative.
struct Slope {
  Lanes value, derivative;
};

/// GELU, tanh form: x (1 + tanh u) / 2 = x logistic(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks, Gimpel).
struct Gelu {
  static constexpr Scalar kTwice = Scalar(1.5957691216057308), kCubic = Scalar(0.044715);  // 2 sqrt(2 / pi)
  [[gnu::always_inline]] static Slope at(Lanes x) {
    const Lanes square = x * x;
    const Lanes share = logistic(kTwice * x * (Scalar(1) + kCubic * square));
    const Lanes slope = kTwice * (Scalar(1) + Scalar(3) * kCubic * square);
    return {x * share, share + x * share * (Scalar(1) - share) * slope};
  }
};

struct Silu {
  [[gnu::always_inline]] static Slope at(Lanes x) {
    const Lanes share = logistic(x);
    return {x * share, share + x * share * (Scalar(1) - share)};
  }
};

struct SquaredRelu {
  [[gnu::always_inline]] static Slope at(Lanes x) {
    const Lanes part = larger(Lanes{}, x);
    return {part * part, Scalar(2) * part};
  }
};

struct Relu {
  [[gnu::always_inline]] static Slope at(Lanes x) { return {larger(Lanes{}, x), positive(x)}; }
};

template <class Function>
void forward(const ActivationShape& shape, const Scalar* up, Scalar* activated) {
  if (!shape.gated) {
    for_parts(shape.rows * shape.columns,
              [&](auto part, std::int64_t i) { part.store(activated + i, Function::at(part.load(up + i)).value); });
    return;
  }
  for (std::int64_t row = 0; row < shape.rows; ++row, up += 2 * shape.columns, activated += shape.columns) {
    for_parts(shape.columns, [&](auto part, std::int64_t i) {
      part.store(activated + i, Function::at(part.load(up + i)).value * part.load(up + shape.columns + i));
    });
  }
}

template <class Function>
void backward(const ActivationShape& shape, const Scalar* up, const Scalar* dy, Scalar* d_up) {
  if (!shape.gated) {
    for_parts(shape.rows * shape.columns, [&](auto part, std::int64_t i) {
      part.store(d_up + i, part.load(dy + i) * Function::at(part.load(up + i)).derivative);
    });
    return;
  }
  for (std::int64_t row = 0; row < shape.rows; ++row, up += 2 * shape.columns, d_up += 2 * shape.columns) {
    for_parts(shape.columns, [&](auto part, std::int64_t i) {
      const Slope gate = Function::at(part.load(up + i));
      const Lanes d = part.load(dy + row * shape.columns + i);
      part.store(d_up + i, d * part.load(up + shape.columns + i) * gate.derivative);
      part.store(d_up + shape.columns + i, d * gate.value);
    });
  }
}

void activation_forward(const ActivationShape& shape, const Scalar* up, Scalar* activated) {
  switch (shape.activation) {
    case Activation::kGelu:
      return forward<Gelu>(shape, up, activated);
    case Activation::kSilu:
      return forward<Silu>(shape, up, activated);
    case Activation::kSquaredRelu:
      return forward<SquaredRelu>(shape, up, activated);
    case Activation::kRelu:
      return forward<Relu>(shape, up, activated);
  }
}

void activation_backward(const ActivationShape& shape, const Scalar* up, const Scalar* dy, Scalar* d_up) {
  switch (shape.activation) {
    case Activation::kGelu:
      return backward<Gelu>(shape, up, dy, d_up);
    case Activation::kSilu:
      return backward<Silu>(shape, up, dy, d_up);
    case Activation::kSquaredRelu:
      return backward<SquaredRelu>(shape, up, dy, d_up);
    case Activation::kRelu:
      return backward<Relu>(shape, up, dy, d_up);
  }
}

}  // namespace

void add_activation(Kernels<Scalar>& table) {
  table.activation_forward = activation_forward;
  table.activation_backward = activation_backward;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
