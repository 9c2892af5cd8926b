#include "hw_models/measured_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hw_models/kernel_time.h"

namespace hw_models {
namespace {

TEST(MeasuredKernels, KindsAreSortedAndFound) {
  EXPECT_TRUE(std::ranges::is_sorted(kernel_kinds(), {}, &KernelKind::name));
  for (const KernelKind& kind : kernel_kinds()) {
    EXPECT_EQ(find_kernel_kind(kind.name), &kind) << kind.name;
    EXPECT_GE(kind.dimensions(), 1u) << kind.name;
  }
  EXPECT_EQ(find_kernel_kind("matmul"), nullptr);
}

struct Case {
  Kernel kernel;
  std::string kind;
  std::vector<double> sizes;
  double repeats = 1;
};

Elementwise pass(ElementwiseKind kind, std::int64_t read, std::int64_t written, bool backward = false) {
  return {kind, 100, read, written, backward};
}

TEST(MeasuredKernels, EveryKernelHasItsPlace) {
  const std::vector<Case> cases{
      {Matmul{.m = 2, .n = 3, .k = 4, .batch = 5, .transpose_b = true}, "matmul-nt", {2, 3, 4}, 5},
      {Matmul{.m = 2, .n = 3, .k = 4, .transpose_a = true}, "matmul-tn", {2, 3, 4}},
      {Matmul{.m = 2, .n = 3, .k = 4}, "matmul-nn", {2, 3, 4}},
      {Attention{.batch = 2, .heads = 6, .query_length = 128, .key_length = 128, .head_dim = 64},
       "attention-forward",
       {128, 64},
       12},
      {Attention{.heads = 1, .query_length = 128, .key_length = 128, .head_dim = 64, .backward = true},
       "attention-backward",
       {128, 64}},
      {Attention{.heads = 3, .query_length = 64, .key_length = 128, .head_dim = 64, .causal = false},
       "attention-forward",  // 64 x 128 scores, four times half of 64 x 64
       {64, 64},
       12},
      {Attention{.heads = 1, .query_length = 64, .key_length = 256, .head_dim = 64},
       "attention-forward",  // 64 x (256 - 32)
       {64, 64},
       7},
      {Norm{.rows = 7, .columns = 8, .kind = NormKind::kLayerNorm}, "layernorm-forward", {7, 8}},
      {Norm{.rows = 7, .columns = 8, .kind = NormKind::kRmsNorm, .backward = true}, "rmsnorm-backward", {7, 8}},
      {pass(ElementwiseKind::kGelu, 400, 400), "gelu-forward", {100}},
      {pass(ElementwiseKind::kSwiglu, 800, 400, true), "swiglu-backward", {100}},
      {pass(ElementwiseKind::kRotary, 400, 400, true), "rotary", {100}},
      {pass(ElementwiseKind::kAdd, 800, 400), "add", {100}},
      {pass(ElementwiseKind::kAdd, 400, 400), "bias-add", {100}},
      {pass(ElementwiseKind::kAdd, 400, 0, true), "bias-gradient", {100}},
      {Embedding{.tokens = 9, .hidden = 8, .vocabulary = 256}, "embedding-forward", {9, 8}},
      {CrossEntropy{.tokens = 9, .vocabulary = 256, .backward = true}, "cross-entropy-backward", {9, 256}},
      {Optimizer{.kind = OptimizerKind::kSgd, .parameters = 50}, "sgd", {50}},
      {Optimizer{.parameters = 50}, "adamw", {50}},
      {SquaredNorm{.elements = 50}, "squared-norm", {50}},
  };
  for (const Case& c : cases) {
    const std::optional<KernelPoint> point = kernel_point(c.kernel);
    ASSERT_TRUE(point.has_value()) << c.kind;
    EXPECT_EQ(point->kind, c.kind);
    EXPECT_EQ(point->sizes, c.sizes) << c.kind;
    EXPECT_EQ(point->repeats, c.repeats) << c.kind;
    const KernelKind* kind = find_kernel_kind(point->kind);
    ASSERT_NE(kind, nullptr) << c.kind;
    EXPECT_EQ(kind->dimensions(), c.sizes.size()) << c.kind;
  }
}

TEST(MeasuredKernels, SomeKernelsHaveNone) {
  for (const Kernel& kernel : std::vector<Kernel>{Matmul{.transpose_a = true, .transpose_b = true}, Route{},
                                                  Measured{1}, pass(ElementwiseKind::kCast, 400, 200)}) {
    EXPECT_FALSE(kernel_point(kernel).has_value());
  }
}

GpuSpec core() {
  GpuSpec gpu;
  gpu.matrix_peak[static_cast<std::size_t>(DType::kFp32)] = FlopsPerSecond(1e11);
  gpu.memory_bandwidth = BytesPerSecond(1e10);
  gpu.measured =
      MeasuredKernels{.operation = Seconds(1), .kinds = {{"sgd", {{{10, 100}}, {10, 100}}, {{{10, 100}}, {20, 200}}}}};
  return gpu;
}

TEST(MeasuredKernels, TakeThePlaceOfTheModel) {
  GpuSpec gpu = core();
  const Optimizer sgd{.kind = OptimizerKind::kSgd, .parameters = 50};
  const struct { double busy, seconds; } cases[] = {{0, 51}, {0.25, 63.5}, {1, 101}};
  for (const auto& c : cases) {
    gpu.busy_neighbours = c.busy;
    EXPECT_NEAR(kernel_cost(sgd, gpu).time.value(), c.seconds, 1e-9) << c.busy;
  }
  EXPECT_GT(kernel_cost(sgd, gpu).traffic.value(), 0);  // what is not measured stays
}

TEST(MeasuredKernels, LeaveTheModelToTheRest) {
  const GpuSpec measured = core();
  GpuSpec gpu = core();
  gpu.measured.reset();
  const Matmul product{.m = 64, .n = 64, .k = 64, .dtype = DType::kFp32, .output = DType::kFp32};
  EXPECT_EQ(kernel_cost(product, measured).time, kernel_cost(product, gpu).time);
}

}  // namespace
}  // namespace hw_models
