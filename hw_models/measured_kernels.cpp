#include "hw_models/measured_kernels.h"

#include <algorithm>

namespace hw_models {
namespace {

using Sizes = std::array<std::string_view, 3>;
constexpr Sizes kProduct{"m", "n", "k"}, kHead{"sequence", "head_dim", ""}, kRows{"rows", "columns", ""},
    kElements{"elements", "", ""}, kTable{"tokens", "hidden", ""}, kLogits{"tokens", "vocabulary", ""},
    kParameters{"parameters", "", ""};

constexpr std::array kKinds = std::to_array<KernelKind>({
    {"adamw", kParameters},
    {"add", kElements},
    {"attention-backward", kHead},
    {"attention-forward", kHead},
    {"bias-add", kElements},
    {"bias-gradient", kElements},
    {"copy", kElements},
    {"cross-entropy-backward", kLogits},
    {"cross-entropy-forward", kLogits},
    {"embedding-backward", kTable},
    {"embedding-forward", kTable},
    {"gelu-backward", kElements},
    {"gelu-forward", kElements},
    {"layernorm-backward", kRows},
    {"layernorm-forward", kRows},
    {"matmul-nn", kProduct},
    {"matmul-nt", kProduct},
    {"matmul-tn", kProduct},
    {"relu-backward", kElements},
    {"relu-forward", kElements},
    {"residual-add", kElements},
    {"rmsnorm-backward", kRows},
    {"rmsnorm-forward", kRows},
    {"rotary", kElements},
    {"scale", kElements},
    {"sgd", kParameters},
    {"squared-norm", kElements},
    {"squared-relu-backward", kElements},
    {"squared-relu-forward", kElements},
    {"swiglu-backward", kElements},
    {"swiglu-forward", kElements},
    {"zero", kElements},
});

double number(std::int64_t value) { return static_cast<double>(value); }

std::string_view elementwise_kind(const Elementwise& pass) {
  switch (pass.kind) {
    case ElementwiseKind::kGelu:
      return pass.backward ? "gelu-backward" : "gelu-forward";
    case ElementwiseKind::kSwiglu:
      return pass.backward ? "swiglu-backward" : "swiglu-forward";
    case ElementwiseKind::kSquaredRelu:
      return pass.backward ? "squared-relu-backward" : "squared-relu-forward";
    case ElementwiseKind::kRelu:
      return pass.backward ? "relu-backward" : "relu-forward";
    case ElementwiseKind::kRotary:
      return "rotary";
    case ElementwiseKind::kResidualAdd:
      return "residual-add";
    case ElementwiseKind::kScale:
      return "scale";
    case ElementwiseKind::kZero:
      return "zero";
    case ElementwiseKind::kCopy:
      return "copy";
    case ElementwiseKind::kAdd:  // one tensor summed up, a row added to one, two added
      if (pass.bytes_written == 0) return "bias-gradient";
      return pass.bytes_read == pass.bytes_written ? "bias-add" : "add";
    case ElementwiseKind::kBiasDropoutAdd:
    case ElementwiseKind::kCast:
      break;
  }
  return "";
}

/// Measured is the causal square, half its scores: how many of it a block of queries x keys has.
double causal_squares(const Attention& a) {
  const double queries = number(a.query_length), keys = number(a.key_length);
  const double seen = a.causal ? queries * (keys - queries / 2) : queries * keys;
  return seen / (queries * queries / 2);
}

struct PointOf {
  std::optional<KernelPoint> operator()(const Matmul& product) const {
    if (product.transpose_a && product.transpose_b) return std::nullopt;
    const std::string_view kind = product.transpose_a ? "matmul-tn" : product.transpose_b ? "matmul-nt" : "matmul-nn";
    return KernelPoint{kind, {number(product.m), number(product.n), number(product.k)}, number(product.batch)};
  }
  std::optional<KernelPoint> operator()(const Attention& a) const {
    return KernelPoint{a.backward ? "attention-backward" : "attention-forward",
                       {number(a.query_length), number(a.head_dim)},
                       number(a.batch) * number(a.heads) * causal_squares(a)};
  }
  std::optional<KernelPoint> operator()(const Norm& norm) const {
    const bool layer = norm.kind == NormKind::kLayerNorm;
    const std::string_view forward = layer ? "layernorm-forward" : "rmsnorm-forward";
    const std::string_view backward = layer ? "layernorm-backward" : "rmsnorm-backward";
    return KernelPoint{norm.backward ? backward : forward, {number(norm.rows), number(norm.columns)}};
  }
  std::optional<KernelPoint> operator()(const Elementwise& pass) const {
    const std::string_view kind = elementwise_kind(pass);
    if (kind.empty()) return std::nullopt;
    return KernelPoint{kind, {number(pass.elements)}};
  }
  std::optional<KernelPoint> operator()(const Embedding& e) const {
    return KernelPoint{e.backward ? "embedding-backward" : "embedding-forward", {number(e.tokens), number(e.hidden)}};
  }
  std::optional<KernelPoint> operator()(const CrossEntropy& loss) const {
    return KernelPoint{loss.backward ? "cross-entropy-backward" : "cross-entropy-forward",
                       {number(loss.tokens), number(loss.vocabulary)}};
  }
  std::optional<KernelPoint> operator()(const Optimizer& optimizer) const {
    return KernelPoint{optimizer.kind == OptimizerKind::kSgd ? "sgd" : "adamw", {number(optimizer.parameters)}};
  }
  std::optional<KernelPoint> operator()(const SquaredNorm& norm) const {
    return KernelPoint{"squared-norm", {number(norm.elements)}};
  }
  std::optional<KernelPoint> operator()(const Route&) const { return std::nullopt; }
  std::optional<KernelPoint> operator()(const Measured&) const { return std::nullopt; }
};

}  // namespace

std::size_t KernelKind::dimensions() const {
  return static_cast<std::size_t>(std::ranges::count_if(axes, [](std::string_view axis) { return !axis.empty(); }));
}

std::span<const KernelKind> kernel_kinds() { return kKinds; }

const KernelKind* find_kernel_kind(std::string_view name) {
  const auto found = std::ranges::lower_bound(kKinds, name, {}, &KernelKind::name);
  return found != kKinds.end() && found->name == name ? &*found : nullptr;
}

std::optional<KernelPoint> kernel_point(const Kernel& kernel) { return std::visit(PointOf{}, kernel); }

const MeasuredKernel* MeasuredKernels::find(std::string_view kind) const {
  const auto found = std::ranges::lower_bound(kinds, kind, {},
                                              [](const MeasuredKernel& each) -> std::string_view { return each.kind; });
  return found != kinds.end() && found->kind == kind ? &*found : nullptr;
}

std::optional<Seconds> measured_time(const Kernel& kernel, const MeasuredKernels& measured, double busy) {
  const std::optional<KernelPoint> point = kernel_point(kernel);
  const MeasuredKernel* table = point ? measured.find(point->kind) : nullptr;
  if (table == nullptr) return std::nullopt;
  const double alone = table->alone.at(point->sizes);
  const double together = table->together.at(point->sizes);
  return Seconds(point->repeats * (alone + busy * (together - alone))) + measured.operation;
}

}  // namespace hw_models
