#include "executor/cpu/kernels/lanes.h"

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

void add_row(std::int64_t columns, const Scalar* x, Scalar* sum) {
  for_parts(columns, [&](auto part, std::int64_t i) { part.store(sum + i, part.load(sum + i) + part.load(x + i)); });
}

/// Row of this rank's table, or -1.
std::int64_t local_row(const EmbeddingShape& shape, std::int32_t id) {
  const std::int64_t row = id - shape.first_row;
  return row >= 0 && row < shape.rows ? row : -1;
}

void embedding_forward(const EmbeddingShape& shape, const std::int32_t* ids, const Scalar* table, Scalar* x) {
  const std::size_t bytes = static_cast<std::size_t>(shape.hidden) * sizeof(Scalar);
  for (std::int64_t token = 0; token < shape.tokens; ++token, x += shape.hidden) {
    const std::int64_t row = local_row(shape, ids[token]);
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
    const std::int64_t row = local_row(shape, ids[token]);
    if (row >= 0) add_row(shape.hidden, dx, table_gradient + row * shape.hidden);
  }
}

std::int64_t position(const PositionShape& shape, std::int64_t row) { return (shape.first_row + row) % shape.sequence; }

void position_add(const PositionShape& shape, const Scalar* x, const Scalar* table, Scalar* y) {
  for (std::int64_t row = 0; row < shape.rows; ++row, x += shape.hidden, y += shape.hidden) {
    const Scalar* added = table + position(shape, row) * shape.hidden;
    for_parts(shape.hidden,
              [&](auto part, std::int64_t i) { part.store(y + i, part.load(x + i) + part.load(added + i)); });
  }
}

void position_gradient(const PositionShape& shape, const Scalar* dy, Scalar* table_gradient) {
  for (std::int64_t row = 0; row < shape.rows; ++row, dy += shape.hidden) {
    add_row(shape.hidden, dy, table_gradient + position(shape, row) * shape.hidden);
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
