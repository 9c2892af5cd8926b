// Eigen is renamed together with our own names (kernel_build.h).
#include "executor/cpu/kernels/kernel_build.h"
#define TRAINYARD_JOIN_NAMES(a, b) a##_##b
#define TRAINYARD_JOIN(a, b) TRAINYARD_JOIN_NAMES(a, b)
#define Eigen TRAINYARD_JOIN(Eigen, TRAINYARD_KERNEL_BUILD)
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#include <Eigen/Core>

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {
namespace {

using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;
using Input = Eigen::Map<const Matrix, Eigen::Unaligned, Stride>;
using Output = Eigen::Map<Matrix, Eigen::Unaligned, Stride>;

// Eigen computes products with m + n + k below this coefficient by coefficient, in an order that depends on the
// addresses.
constexpr std::int64_t kEigenSmall = 20;

template <class A, class B>
void multiply(const A& a, const B& b, bool accumulate, Output c) {
  for (Eigen::Index i = 0; !accumulate && i < c.rows(); ++i) {  // Eigen's setZero() is slow on rows with a stride
    __builtin_memset(c.data() + i * c.outerStride(), 0, static_cast<std::size_t>(c.cols()) * sizeof(Scalar));
  }
  if (c.rows() + c.cols() + a.cols() >= kEigenSmall) {
    c.noalias() += a * b;
    return;
  }
  for (Eigen::Index i = 0; i < c.rows(); ++i) {
    for (Eigen::Index j = 0; j < c.cols(); ++j) {
      for (Eigen::Index p = 0; p < a.cols(); ++p) c(i, j) += a(i, p) * b(p, j);
    }
  }
}

Input view(const Scalar* values, std::int64_t rows, std::int64_t columns, bool transposed, std::int64_t stride) {
  if (transposed) return view(values, columns, rows, false, stride);
  return {values, rows, columns, Stride(stride > 0 ? stride : columns)};
}

}  // namespace

void matmul(const MatmulShape& shape, const Scalar* a, const Scalar* b, Scalar* c) {
  for (std::int64_t i = 0; i < shape.batch; ++i) {
    const Input left = view(a + i * shape.step_a, shape.m, shape.k, shape.transpose_a, shape.lda);
    const Input right = view(b + i * shape.step_b, shape.k, shape.n, shape.transpose_b, shape.ldb);
    const Output product(c + i * shape.step_c, shape.m, shape.n, Stride(shape.ldc > 0 ? shape.ldc : shape.n));
    if (shape.transpose_a && shape.transpose_b) {
      multiply(left.transpose(), right.transpose(), shape.accumulate, product);
    } else if (shape.transpose_a) {
      multiply(left.transpose(), right, shape.accumulate, product);
    } else if (shape.transpose_b) {
      multiply(left, right.transpose(), shape.accumulate, product);
    } else {
      multiply(left, right, shape.accumulate, product);
    }
  }
}

void add_matmul(Kernels<Scalar>& table) { table.matmul = matmul; }

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
