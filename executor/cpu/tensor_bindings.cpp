// Matrix products, attention, norms and passes over activations.
#include <array>

#include "executor/cpu/bindings.h"

namespace executor::cpu {
namespace {

using hw_models::Attention;
using hw_models::DType;
using hw_models::Elementwise;
using hw_models::ElementwiseKind;
using hw_models::Matmul;
using hw_models::Norm;
using hw_models::NormKind;
using strategies::Activation;
using strategies::Operation;

constexpr DType kSingle = DType::kFp32;

/// {A, B, bias of C's rows if any} -> {C}
void run_matmul(const Call& call) {
  const auto& k = call.kernel<Matmul>();
  const MatmulShape shape{.m = k.m,
                          .n = k.n,
                          .k = k.k,
                          .transpose_a = k.transpose_a,
                          .transpose_b = k.transpose_b,
                          .accumulate = k.accumulate};
  float* c = call.write(0, k.m * k.n);
  call.state.kernels.matmul(shape, call.read(0, k.m * k.k), call.read(1, k.k * k.n), c);
  if (call.reads.size() > 2) call.state.kernels.bias_add(k.m, k.n, call.read(2, k.n), c);
}

bool fits_matmul(const Operation& operation) {
  const auto* k = kernel_of<Matmul>(operation);
  return k != nullptr && k->dtype == kSingle && k->output == kSingle && k->batch == 1;
}

template <bool backward>
bool fits_attention(const Operation& operation) {
  const auto* k = kernel_of<Attention>(operation);
  return k != nullptr && k->backward == backward && k->kernel == hw_models::AttentionKernel::kUnfused &&
         k->dtype == kSingle && k->causal && !k->dropout && k->query_length == k->key_length &&
         k->head_dim == k->value_dim;
}

AttentionShape shape_of(const Attention& k) {
  return {.batch = k.batch,
          .sequence = k.query_length,
          .heads = k.heads,
          .kv_heads = k.kv_heads,
          .head_dim = k.head_dim,
          .window = k.window};
}

/// {qkv} -> {context, probabilities}, or {probabilities} alone where they are computed again
void run_attention(const Call& call) {
  const AttentionShape shape = shape_of(call.kernel<Attention>());
  const bool again = call.writes.size() == 1;
  float* context = again ? nullptr : call.write(0, shape.tokens() * shape.query_columns());
  call.state.kernels.attention_forward(shape, call.read(0, shape.tokens() * shape.packed_columns()),
                                       call.write(again ? 0 : 1, shape.probabilities()), context);
}

/// {qkv, context, probabilities, gradient of context} -> {gradient of qkv}
void run_attention_backward(const Call& call) {
  const AttentionShape shape = shape_of(call.kernel<Attention>());
  const std::int64_t packed = shape.tokens() * shape.packed_columns(), query = shape.tokens() * shape.query_columns();
  call.state.kernels.attention_backward(
      shape, call.read(0, packed), call.read(2, shape.probabilities()), call.read(1, query), call.read(3, query),
      call.write(0, packed), call.state.scratch(static_cast<std::size_t>(attention_workspace(shape))).data());
}

template <bool backward>
bool fits_norm(const Operation& operation) {
  const auto* k = kernel_of<Norm>(operation);
  return k != nullptr && k->backward == backward && k->dtype == kSingle;
}

NormShape shape_of(const Norm& k) { return {.rows = k.rows, .columns = k.columns, .kind = k.kind}; }

/// Gain, and for LayerNorm bias behind it.
float* bias_behind(const Norm& k, float* gain) { return k.kind == NormKind::kLayerNorm ? gain + k.columns : nullptr; }
std::int64_t norm_parameters(const Norm& k) { return k.columns * (k.kind == NormKind::kLayerNorm ? 2 : 1); }

/// {x, gain and bias} -> {y}
void run_norm(const Call& call) {
  const auto& k = call.kernel<Norm>();
  float* gain = call.read(1, norm_parameters(k));
  call.state.kernels.norm_forward(shape_of(k), call.read(0, k.rows * k.columns), gain, bias_behind(k, gain),
                                  call.write(0, k.rows * k.columns));
}

/// {x, dy, gain and bias} -> {dx, their gradients}
void run_norm_backward(const Call& call) {
  const auto& k = call.kernel<Norm>();
  float* gradient = call.write(1, norm_parameters(k));
  call.state.kernels.norm_backward(shape_of(k), call.read(0, k.rows * k.columns), call.read(2, norm_parameters(k)),
                                   call.read(1, k.rows * k.columns), call.write(0, k.rows * k.columns), gradient,
                                   bias_behind(k, gradient));
}

bool is_pass(const Operation& operation, ElementwiseKind kind, bool backward) {
  const auto* k = pass_of(operation, kind);
  return k != nullptr && k->backward == backward;
}

bool fits_mlp_bias(const Operation& operation) {
  return is_pass(operation, ElementwiseKind::kAdd, false) && operation.origin.label == "mlp-bias" &&
         operation.reads.size() == 2;
}

/// {x, bias} -> {x}
void run_bias_add(const Call& call) {
  const auto& k = call.kernel<Elementwise>();
  call.state.kernels.bias_add(k.elements / k.columns, k.columns, call.read(1, k.columns), call.write(0, k.elements));
}

bool fits_residual(const Operation& operation) { return is_pass(operation, ElementwiseKind::kResidualAdd, false); }

/// {x, stream, bias if any} -> {x + bias + stream}
void run_residual(const Call& call) {
  const std::int64_t elements = call.kernel<Elementwise>().elements;
  const bool biased = call.reads.size() > 2;
  const std::int64_t columns = biased ? static_cast<std::int64_t>(call.reads[2].size()) : elements;
  call.state.kernels.residual_add(elements / columns, columns, call.read(0, elements),
                                  biased ? call.read(2, columns) : nullptr, call.read(1, elements),
                                  call.write(0, elements));
}

bool fits_bias_gradient(const Operation& operation) {
  return is_pass(operation, ElementwiseKind::kAdd, true) && operation.origin.label.ends_with("-bias-gradient");
}

/// {dy} -> {gradient of the bias}, over all rows of dy or over this tensor rank's share of them
void run_bias_gradient(const Call& call) {
  const std::int64_t elements = call.kernel<Elementwise>().elements;
  const auto columns = static_cast<std::int64_t>(call.writes[0].size());
  const bool shared = static_cast<std::int64_t>(call.reads[0].size()) > elements;
  const std::int64_t first = shared ? elements * call.state.place.tensor : 0;
  call.state.kernels.bias_gradient(elements / columns, columns, call.read(0, first + elements) + first,
                                   call.write(0, columns));
}

/// residual-gradient, and a weight gradient that is added in a pass of its own
bool fits_add(const Operation& operation) {
  const std::string& label = operation.origin.label;
  return is_pass(operation, ElementwiseKind::kAdd, true) && operation.reads.size() == 2 &&
         (label == "residual-gradient" || label.ends_with("-accumulate"));
}

/// {a, b} -> {a + b}
void run_add(const Call& call) {
  const std::int64_t elements = call.kernel<Elementwise>().elements;
  call.state.kernels.add(elements, call.read(0, elements), call.read(1, elements), call.write(0, elements));
}

template <bool backward>
bool fits_rotary(const Operation& operation) {
  return is_pass(operation, ElementwiseKind::kRotary, backward);
}

/// {packed projection} -> {itself}
template <bool backward>
void run_rotary(const Call& call) {
  const auto& k = call.kernel<Elementwise>();
  const std::int64_t rows = k.elements / k.columns;
  const RotaryShape shape{.rows = rows,
                          .sequence = call.state.order.own(),
                          .heads = k.columns / k.head_dim,
                          .head_dim = k.head_dim,
                          .stride = static_cast<std::int64_t>(call.writes[0].size()) / rows};
  const auto [cosines, sines] = call.state.rotation(k.head_dim);
  const auto& rotate = backward ? call.state.kernels.rotary_backward : call.state.kernels.rotary_forward;
  rotate(shape, cosines, sines, call.write(0, k.elements));
}

struct ActivationOf {
  ElementwiseKind kind;
  Activation activation;
};
constexpr std::array<ActivationOf, 4> kActivations{{{ElementwiseKind::kGelu, Activation::kGelu},
                                                    {ElementwiseKind::kSwiglu, Activation::kSilu},
                                                    {ElementwiseKind::kSquaredRelu, Activation::kSquaredRelu},
                                                    {ElementwiseKind::kRelu, Activation::kRelu}}};

const ActivationOf* activation_of(const Operation& operation) {
  const auto* k = kernel_of<Elementwise>(operation);
  if (k == nullptr) return nullptr;
  for (const ActivationOf& each : kActivations) {
    if (each.kind == k->kind) return &each;
  }
  return nullptr;
}

/// Without a bias of the pass's own.
template <bool backward>
bool fits_activation(const Operation& operation) {
  return activation_of(operation) != nullptr && kernel_of<Elementwise>(operation)->backward == backward &&
         operation.reads.size() == (backward ? 2 : 1);
}

ActivationShape activation_shape(const Call& call, std::span<float> up, std::span<float> activated) {
  const std::int64_t columns = call.kernel<Elementwise>().columns;
  return {.rows = static_cast<std::int64_t>(activated.size()) / columns,
          .columns = columns,
          .activation = activation_of(call.operation)->activation,
          .gated = up.size() == 2 * activated.size()};
}

/// {up} -> {activated}
void run_activation(const Call& call) {
  const ActivationShape shape = activation_shape(call, call.reads[0], call.writes[0]);
  call.state.kernels.activation_forward(shape, call.reads[0].data(), call.writes[0].data());
}

/// {up, gradient of activated} -> {gradient of up}
void run_activation_backward(const Call& call) {
  const ActivationShape shape = activation_shape(call, call.reads[0], call.reads[1]);
  call.state.kernels.activation_backward(shape, call.reads[0].data(), call.reads[1].data(),
                                         call.write(0, static_cast<std::int64_t>(call.reads[0].size())));
}

constexpr std::array<Binding, 13> kBindings{{
    {"matmul", "", fits_matmul, run_matmul},
    {"attention", "", fits_attention<false>, run_attention},
    {"attention", "attention-backward", fits_attention<true>, run_attention_backward},
    {"norm", "", fits_norm<false>, run_norm},
    {"norm", "", fits_norm<true>, run_norm_backward},
    {"elementwise add", "mlp-bias", fits_mlp_bias, run_bias_add},
    {"elementwise add", "*-bias-gradient", fits_bias_gradient, run_bias_gradient},
    {"elementwise add", "residual-gradient, *-accumulate", fits_add, run_add},
    {"elementwise residual-add", "residual-add", fits_residual, run_residual},
    {"elementwise rotary", "rotary", fits_rotary<false>, run_rotary<false>},
    {"elementwise rotary", "rotary-backward", fits_rotary<true>, run_rotary<true>},
    {"elementwise gelu, swiglu, squared-relu, relu", "activation", fits_activation<false>, run_activation},
    {"elementwise gelu, swiglu, squared-relu, relu", "activation-backward", fits_activation<true>,
     run_activation_backward},
}};

}  // namespace

std::span<const Binding> tensor_bindings() { return kBindings; }

}  // namespace executor::cpu
