#include "executor/cpu/kernels/lanes.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

using Rows = CrossEntropyRows<Scalar>;

/// This rank's columns that are not padding; 0 if all are.
std::int64_t valid_columns(const CrossEntropyShape& shape) {
  const std::int64_t valid = shape.vocabulary - shape.first_column;
  return valid < 0 ? 0 : valid < shape.columns ? valid : shape.columns;
}

void cross_entropy_forward(const CrossEntropyShape& shape, const Scalar* logits, const std::int32_t* targets,
                           Scalar* probabilities, const Rows& rows) {
  const std::int64_t valid = valid_columns(shape);
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    const Scalar* x = logits + token * shape.columns;
    Scalar* p = probabilities + token * shape.columns;
    const std::int64_t column = local_index(targets[token], shape.first_column, shape.columns);
    rows.target[token] = column < 0 ? 0 : x[column];
    const Scalar maximum = maximum_of(valid, x);
    rows.local_maximum[token] = rows.maximum[token] = maximum;
    Lanes sums{};
    for_parts(valid, [&](auto part, std::int64_t i) {
      part.store(p + i, exponential(part.load(x + i) - maximum));
      sums += part.load(p + i);  // a tail's unused lanes are zero
    });
    rows.sum[token] = total(sums);
    for (std::int64_t i = valid; i < shape.columns; ++i) p[i] = 0;
  }
}

void cross_entropy_rescale(const CrossEntropyShape& shape, const Rows& rows) {
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    rows.sum[token] *= exponential_of(rows.local_maximum[token] - rows.maximum[token]);
  }
}

double cross_entropy_loss(const CrossEntropyShape& shape, const Rows& rows) {
  double loss = 0;
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    loss += __builtin_log(static_cast<double>(rows.sum[token])) +
            (static_cast<double>(rows.maximum[token]) - static_cast<double>(rows.target[token]));
  }
  return loss;
}

void cross_entropy_backward(const CrossEntropyShape& shape, const Scalar* probabilities, const std::int32_t* targets,
                            const Rows& rows, double weight, Scalar* logits_gradient) {
  const auto mean_weight = static_cast<Scalar>(weight);
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    const Scalar* p = probabilities + token * shape.columns;
    Scalar* d = logits_gradient + token * shape.columns;
    const Scalar factor =
        mean_weight * exponential_of(rows.local_maximum[token] - rows.maximum[token]) / rows.sum[token];
    for_parts(shape.columns, [&](auto part, std::int64_t i) { part.store(d + i, factor * part.load(p + i)); });
    const std::int64_t column = local_index(targets[token], shape.first_column, shape.columns);
    if (column >= 0) d[column] -= mean_weight;
  }
}

}  // namespace

void add_cross_entropy(Kernels<Scalar>& table) {
  table.cross_entropy_forward = cross_entropy_forward;
  table.cross_entropy_rescale = cross_entropy_rescale;
  table.cross_entropy_loss = cross_entropy_loss;
  table.cross_entropy_backward = cross_entropy_backward;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
