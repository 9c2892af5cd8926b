#include "executor/calibration/kernel_cases.h"

#include <algorithm>
#include <numeric>

namespace executor {
namespace {

using cpu::Kernels;
using Table = Kernels<float>;
using hw_models::NormKind;
using strategies::Activation;

double product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0,
                         [](double all, std::int64_t size) { return all * static_cast<double>(size); });
}
/// Scores of one head, each of head_dim products.
double attention_work(const Sizes& s) { return static_cast<double>(s[0]) * product(s); }

// F: C = X W^T, kept;  B: dX = dY W;  W: dW += dY^T X.
template <bool transpose_a, bool transpose_b>
void run_matmul(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  const cpu::MatmulShape shape{.m = s[0],
                               .n = s[1],
                               .k = s[2],
                               .transpose_a = transpose_a,
                               .transpose_b = transpose_b,
                               .accumulate = transpose_a};
  float* c = transpose_a || transpose_b ? memory.distant(s[0] * s[1]) : memory.recent(s[0] * s[1]);
  kernels.matmul(shape, memory.recent_input(s[0] * s[2]), memory.distant_input(s[2] * s[1]), c);
}

constexpr std::int64_t kHeads = 4;  // measured at once, then divided: heads lie side by side in a row

cpu::AttentionShape attention_shape(const Sizes& s) {
  return {.batch = 1, .sequence = s[0], .heads = kHeads, .kv_heads = kHeads, .head_dim = s[1]};
}

void run_attention(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  const cpu::AttentionShape shape = attention_shape(s);
  kernels.attention_forward(shape, memory.recent_input(shape.tokens() * shape.packed_columns()),
                            memory.distant(shape.probabilities()),
                            memory.distant(shape.tokens() * shape.query_columns()));
}

void run_attention_backward(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  const cpu::AttentionShape shape = attention_shape(s);
  const std::int64_t packed = shape.tokens() * shape.packed_columns(), query = shape.tokens() * shape.query_columns();
  kernels.attention_backward(shape, memory.distant_input(packed), memory.distant_input(shape.probabilities()),
                             memory.distant_input(query), memory.recent_input(query), memory.recent(packed),
                             memory.recent(cpu::attention_workspace(shape)));
}

template <NormKind kind>
void run_norm(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  const cpu::NormShape shape{.rows = s[0], .columns = s[1], .kind = kind};
  const float* bias = kind == NormKind::kLayerNorm ? memory.distant_input(s[1]) : nullptr;
  kernels.norm_forward(shape, memory.recent_input(s[0] * s[1]), memory.distant_input(s[1]), bias,
                       memory.distant(s[0] * s[1]));
}

template <NormKind kind>
void run_norm_backward(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  const cpu::NormShape shape{.rows = s[0], .columns = s[1], .kind = kind};
  float* bias = kind == NormKind::kLayerNorm ? memory.distant(s[1]) : nullptr;
  kernels.norm_backward(shape, memory.distant_input(s[0] * s[1]), memory.distant_input(s[1]),
                        memory.recent_input(s[0] * s[1]), memory.recent(s[0] * s[1]), memory.distant(s[1]), bias);
}

constexpr std::int64_t kColumns = 512;  // of passes whose time depends on their elements
cpu::ActivationShape activation_shape(std::int64_t activated, Activation activation, bool gated) {
  return {.rows = activated / kColumns, .columns = kColumns, .activation = activation, .gated = gated};
}

template <Activation activation, bool gated>
void run_activation(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.activation_forward(activation_shape(s[0], activation, gated), memory.recent_input(s[0] * (gated ? 2 : 1)),
                             memory.distant(s[0]));
}

template <Activation activation, bool gated>
void run_activation_backward(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  const std::int64_t activated = s[0] / (gated ? 2 : 1);
  kernels.activation_backward(activation_shape(activated, activation, gated), memory.distant_input(s[0]),
                              memory.recent_input(activated), memory.recent(s[0]));
}

void run_rotary(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  constexpr std::int64_t kHeadDim = 64, kSequence = 1024;
  const cpu::RotaryShape shape{.rows = s[0] / kColumns,
                               .sequence = kSequence,
                               .heads = kColumns / kHeadDim,
                               .head_dim = kHeadDim,
                               .stride = kColumns};
  constexpr std::int64_t kTable = kSequence * kHeadDim / 2;
  kernels.rotary_forward(shape, memory.recent_input(kTable), memory.recent_input(kTable), memory.recent(s[0]));
}

void run_add(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.add(s[0], memory.recent_input(s[0]), memory.recent_input(s[0]), memory.recent(s[0]));
}
void run_bias_add(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.bias_add(s[0] / kColumns, kColumns, memory.distant_input(kColumns), memory.recent(s[0]));
}
void run_bias_gradient(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.bias_gradient(s[0] / kColumns, kColumns, memory.recent_input(s[0]), memory.distant(kColumns));
}
void run_residual_add(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.residual_add(s[0] / kColumns, kColumns, memory.recent_input(s[0]), memory.distant_input(kColumns),
                       memory.recent_input(s[0]), memory.distant(s[0]));
}
void run_scale(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.scale(s[0], 1, memory.distant(s[0]));
}
void run_zero(const Table& kernels, const Sizes& s, CaseMemory& memory) { kernels.zero(s[0], memory.distant(s[0])); }
void run_copy(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.copy(s[0], memory.recent_input(s[0]), memory.recent(s[0]));
}
void run_squared_norm(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.squared_norm(s[0], memory.distant_input(s[0]));
}
void run_sgd(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.sgd(s[0], 1e-3, 0.1, memory.distant_input(s[0]), memory.distant(s[0]));
}
void run_adamw(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  const cpu::AdamWShape shape{.elements = s[0], .step = 10, .weight_decay = 0.1};
  float* momentum = memory.distant(s[0]);
  float* variance = memory.distant(s[0]);
  kernels.adamw(shape, memory.distant_input(s[0]), momentum, variance, memory.distant(s[0]));
}

cpu::EmbeddingShape embedding_shape(const Sizes& s) {
  return {.tokens = s[0], .hidden = s[1], .first_row = 0, .rows = CaseMemory::kVocabulary};
}
void run_embedding(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.embedding_forward(embedding_shape(s), memory.tokens(), memory.distant_input(s[1] * CaseMemory::kVocabulary),
                            memory.recent(s[0] * s[1]));
}
void run_embedding_backward(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  kernels.embedding_backward(embedding_shape(s), memory.tokens(), memory.recent_input(s[0] * s[1]),
                             memory.distant(s[1] * CaseMemory::kVocabulary));
}

/// A rank without tensor parallelism: maximum, exponentials, loss.
void run_cross_entropy(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  const cpu::CrossEntropyShape shape{.tokens = s[0], .columns = s[1], .first_column = 0, .vocabulary = s[1]};
  float* rows = memory.recent(4 * s[0]);
  const cpu::CrossEntropyRows<float> view{rows, rows + s[0], rows + 2 * s[0], rows + 3 * s[0]};
  kernels.cross_entropy_forward(shape, memory.recent_input(s[0] * s[1]), memory.tokens(), memory.recent(s[0] * s[1]),
                                view);
  kernels.cross_entropy_loss(shape, view);
}
void run_cross_entropy_backward(const Table& kernels, const Sizes& s, CaseMemory& memory) {
  const cpu::CrossEntropyShape shape{.tokens = s[0], .columns = s[1], .first_column = 0, .vocabulary = s[1]};
  float* rows = memory.recent(4 * s[0]);
  std::fill(rows, rows + 4 * s[0], 1.0F);
  const cpu::CrossEntropyRows<float> view{rows, rows + s[0], rows + 2 * s[0], rows + 3 * s[0]};
  kernels.cross_entropy_backward(shape, memory.recent_input(s[0] * s[1]), memory.tokens(), view, 1e-3,
                                 memory.recent(s[0] * s[1]));
}

}  // namespace

std::vector<KernelCase> kernel_cases(bool quick) {
  // Not powers of two only: rows of such lengths share cache sets, which other sizes do not.
  const Sizes sides{16, 64, 192, 512, 1536, 4096};
  const std::vector<Sizes> cube{sides, sides, sides};
  const std::vector<Sizes> rows{{16, 128, 1024, 8192}, {64, 384, 1024, 4096}};
  const std::vector<Sizes> heads{{32, 128, 384, 1024}, {16, 32, 64, 128}};
  const std::vector<Sizes> tables{{64, 512, 4096}, {64, 512, 2048}};
  const std::vector<Sizes> logits{{64, 512, 4096}, {256, 2048, 32768}};
  const std::vector<Sizes> elements{{4096, 32768, 262144, 2097152}};
  const double products = quick ? 0x1p25 : 0x1p30, numbers = quick ? 0x1p19 : 0x1p22;
  const auto pass = [&](std::string_view kind, auto run) { return KernelCase{kind, elements, product, numbers, run}; };
  return {
      pass("adamw", run_adamw),
      pass("add", run_add),
      {"attention-backward", heads, attention_work, products, run_attention_backward, kHeads},
      {"attention-forward", heads, attention_work, products, run_attention, kHeads},
      pass("bias-add", run_bias_add),
      pass("bias-gradient", run_bias_gradient),
      pass("copy", run_copy),
      {"cross-entropy-backward", logits, product, numbers, run_cross_entropy_backward},
      {"cross-entropy-forward", logits, product, numbers, run_cross_entropy},
      {"embedding-backward", tables, product, numbers, run_embedding_backward},
      {"embedding-forward", tables, product, numbers, run_embedding},
      pass("gelu-backward", run_activation_backward<Activation::kGelu, false>),
      pass("gelu-forward", run_activation<Activation::kGelu, false>),
      {"layernorm-backward", rows, product, numbers, run_norm_backward<NormKind::kLayerNorm>},
      {"layernorm-forward", rows, product, numbers, run_norm<NormKind::kLayerNorm>},
      {"matmul-nn", cube, product, products, run_matmul<false, false>},
      {"matmul-nt", cube, product, products, run_matmul<false, true>},
      {"matmul-tn", cube, product, products, run_matmul<true, false>},
      pass("relu-backward", run_activation_backward<Activation::kRelu, false>),
      pass("relu-forward", run_activation<Activation::kRelu, false>),
      pass("residual-add", run_residual_add),
      {"rmsnorm-backward", rows, product, numbers, run_norm_backward<NormKind::kRmsNorm>},
      {"rmsnorm-forward", rows, product, numbers, run_norm<NormKind::kRmsNorm>},
      pass("rotary", run_rotary),
      pass("scale", run_scale),
      pass("sgd", run_sgd),
      pass("squared-norm", run_squared_norm),
      pass("squared-relu-backward", run_activation_backward<Activation::kSquaredRelu, false>),
      pass("squared-relu-forward", run_activation<Activation::kSquaredRelu, false>),
      pass("swiglu-backward", run_activation_backward<Activation::kSilu, true>),
      pass("swiglu-forward", run_activation<Activation::kSilu, true>),
      pass("zero", run_zero),
  };
}

std::vector<Sizes> grid_points(const KernelCase& kernel_case) {
  std::vector<Sizes> points{{}};
  for (const Sizes& axis : kernel_case.axes) {
    std::vector<Sizes> longer;
    for (const Sizes& point : points) {
      for (const std::int64_t size : axis) {
        longer.push_back(point);
        longer.back().push_back(size);
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace executor
