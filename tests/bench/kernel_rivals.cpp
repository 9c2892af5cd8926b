#include "tests/bench/kernel_rivals.h"

#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#include <Eigen/Core>

#include "tests/executor/cpu/reference.h"

namespace rivals {

void eigen_product(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a, bool transpose_b, const float* a,
                   const float* b, float* c) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using View = Eigen::Map<const Matrix>;
  Eigen::Map<Matrix> product(c, m, n);
  if (transpose_a && transpose_b) {
    product.noalias() = View(a, k, m).transpose() * View(b, n, k).transpose();
  } else if (transpose_a) {
    product.noalias() = View(a, k, m).transpose() * View(b, k, n);
  } else if (transpose_b) {
    product.noalias() = View(a, m, k) * View(b, n, k).transpose();
  } else {
    product.noalias() = View(a, m, k) * View(b, k, n);
  }
}

executor::cpu::Kernels<float> plain_loops() { return executor::cpu::reference::kernels<float>(); }

}  // namespace rivals
