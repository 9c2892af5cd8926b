#include <vector>

#include "tests/executor/cpu/kernel_arrays.h"
#include "tests/sanitized.h"

namespace executor::cpu {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};
// Ones, primes, below and above Eigen's blocks of registers and caches.
const std::vector<Sizes> kSizes = {{1, 1, 1},      {1, 5, 3},      {7, 1, 4},      {2, 3, 200},
                                   {1, 64, 33},    {64, 1, 33},    {17, 19, 23},   {64, 32, 48},
                                   {33, 129, 257}, {129, 65, 300}, {257, 130, 513}};

Values random_matrix(const MatmulShape& s, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                     bool transposed, unsigned seed) {
  if (transposed) std::swap(rows, columns);
  return random_values((s.batch - 1) * 1000 + rows * (stride > 0 ? stride : columns), seed);
}

void check(const MatmulShape& shape, const std::string& what) {
  const std::vector<Values> values = {random_matrix(shape, shape.m, shape.k, shape.lda, shape.transpose_a, 1),
                                      random_matrix(shape, shape.k, shape.n, shape.ldb, shape.transpose_b, 2),
                                      random_matrix(shape, shape.m, shape.n, shape.ldc, false, 3)};
  expect_like_plain_loops(what, values, 4e-6, [&](const auto& kernels, auto& arrays) {
    kernels.matmul(shape, arrays[0], arrays[1], arrays[2]);
  });
}

TEST(Matmul, EveryTranspositionAndStride) {
  for (const Sizes& s : tests::sampled(kSizes)) {
    for (int bits = 0; bits < 16; ++bits) {
      MatmulShape shape{.m = s.m,
                        .n = s.n,
                        .k = s.k,
                        .transpose_a = (bits & 1) != 0,
                        .transpose_b = (bits & 2) != 0,
                        .accumulate = (bits & 4) != 0};
      if ((bits & 8) != 0) {
        shape.lda = std::max(s.m, s.k) + 3;
        shape.ldb = std::max(s.n, s.k) + 1;
        shape.ldc = s.n + 5;
      }
      check(shape, std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) + " variant " +
                       std::to_string(bits));
    }
  }
}

TEST(Matmul, Batch) {
  for (const bool transpose : {false, true}) {
    check({.m = 5,
           .n = 24,
           .k = 9,
           .batch = 3,
           .transpose_a = transpose,
           .transpose_b = !transpose,
           .step_a = 90,
           .step_b = 300,
           .step_c = 125},
          "batch");
  }
}

TEST(Matmul, OverwritesWhateverWasThere) {
  expect_like_plain_loops("unset", {random_values(30 * 20, 1), random_values(20 * 10, 2), unset(30 * 10)}, 4e-6,
                          [](const auto& kernels, auto& arrays) {
                            kernels.matmul({.m = 30, .n = 10, .k = 20}, arrays[0], arrays[1], arrays[2]);
                          });
}

}  // namespace
}  // namespace executor::cpu
