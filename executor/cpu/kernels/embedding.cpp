#include "executor/cpu/kernels/lanes.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

void embedding_forward(const EmbeddingShape& shape, const std::int32_t* ids, const Scalar* table, Scalar* x) {
  const std::size_t bytes = static_cast<std::size_t>(shape.hidden) * sizeof(Scalar);
  for (std::int64_t token = 0; token < shape.tokens; ++token, x += shape.hidden) {
    const std::int64_t row = local_index(ids[token], shape.first_row, shape.rows);
    if (row < 0) {
      __builtin_memset(x, 0, bytes);
    } else {
      __builtin_memcpy(x, table + row * shape.hidden, bytes);
    }
  }
}

void embedding_backward(const EmbeddingShape& shape, const std::int32_t* ids, const Scalar* dx,
                        Scalar* table_gradient) {
  for (std::int64_t token = 0; token < shape.tokens; ++token, dx += shape.hidden) {
    const std::int64_t row = local_index(ids[token], shape.first_row, shape.rows);
    if (row < 0) continue;
    Scalar* gradient = table_gradient + row * shape.hidden;
    add(shape.hidden, gradient, dx, gradient);
  }
}

std::int64_t position(const PositionShape& shape, std::int64_t row) { return (shape.first_row + row) % shape.sequence; }

void position_add(const PositionShape& shape, const Scalar* x, const Scalar* table, Scalar* y) {
  for (std::int64_t row = 0; row < shape.rows; ++row, x += shape.hidden, y += shape.hidden) {
    add(shape.hidden, x, table + position(shape, row) * shape.hidden, y);
  }
}

void position_gradient(const PositionShape& shape, const Scalar* dy, Scalar* table_gradient) {
  for (std::int64_t row = 0; row < shape.rows; ++row, dy += shape.hidden) {
    Scalar* gradient = table_gradient + position(shape, row) * shape.hidden;
    add(shape.hidden, gradient, dy, gradient);
  }
}

}  // namespace

void add_embedding(Kernels<Scalar>& table) {
  table.embedding_forward = embedding_forward;
  table.embedding_backward = embedding_backward;
  table.position_add = position_add;
  table.position_gradient = position_gradient;
}

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
