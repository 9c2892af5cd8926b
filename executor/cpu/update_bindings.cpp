// The end of a step: gradient norm, clipping, optimizer.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "executor/cpu/bindings.h"

namespace executor::cpu {
namespace {

using hw_models::DType;
using hw_models::Elementwise;
using hw_models::ElementwiseKind;
using hw_models::Optimizer;
using hw_models::OptimizerKind;
using hw_models::SquaredNorm;
using strategies::Operation;

bool fits_squared_norm(const Operation& operation) {
  const auto* k = kernel_of<SquaredNorm>(operation);
  return k != nullptr && k->dtype == DType::kFp32;
}

const strategies::TensorSlice& slice_of(const Call& call, strategies::BufferId buffer) {
  return call.state.role.buffers[buffer.value].slice;
}

/// {gradients} -> {the sum of squares of this rank's share, one double}
void run_squared_norm(const Call& call) {
  double sum = 0;
  for (std::size_t i = 0; i < call.reads.size(); ++i) {
    if (!call.state.counts_in_norm(call.operation.reads[i])) continue;
    const Pieces::Range own = call.state.updated(call.operation.reads[i], call.reads[i].size());
    sum += call.state.kernels.squared_norm(static_cast<std::int64_t>(own.size()), call.reads[i].data() + own.begin);
  }
  std::memcpy(call.write(0, 2), &sum, sizeof sum);
}

bool fits_clip(const Operation& operation) {
  return pass_of(operation, ElementwiseKind::kScale) != nullptr && operation.origin.label == "clip";
}

/// {gradients, norm squared} -> {gradients}, scaled so that their norm is at most the settings'.
void run_clip(const Call& call) {
  double squared = 0;
  std::memcpy(&squared, call.read(call.writes.size(), 2), sizeof squared);
  const double norm = std::sqrt(squared), most = call.state.settings.gradient_clip;
  call.state.gradient_norm = norm;
  const auto factor = static_cast<float>(most > 0 && norm > most ? most / norm : 1.0);
  for (std::size_t i = 0; i < call.writes.size(); ++i) {
    const std::span<float> gradient = call.writes[i];
    const Pieces::Range own = call.state.updated(call.operation.writes[i], gradient.size());
    call.state.kernels.scale(static_cast<std::int64_t>(own.size()), factor, gradient.data() + own.begin);
  }
}

bool fits_zero(const Operation& operation) { return pass_of(operation, ElementwiseKind::kZero) != nullptr; }

/// {} -> {gradients}
void run_zero(const Call& call) {
  for (const std::span<float> gradient : call.writes) {
    call.state.kernels.zero(static_cast<std::int64_t>(gradient.size()), gradient.data());
  }
}

bool fits_optimizer(const Operation& operation) { return kernel_of<Optimizer>(operation) != nullptr; }

/// The weights of one parameter that this rank updates, and what belongs to them.
struct Update {
  std::int64_t elements = 0;
  const float* gradient = nullptr;
  float* weights = nullptr;
  double weight_decay = 0;
};

Update update_of(const Call& call, std::size_t parameter) {
  const strategies::BufferId gradient_id = call.operation.reads[parameter],
                             weight_id = call.operation.writes[parameter + 1];
  if (slice_of(call, gradient_id).parameter != slice_of(call, weight_id).parameter) {
    throw std::logic_error("the optimizer's operands do not pair up");
  }
  const std::span<float> gradient = call.reads[parameter], weights = call.writes[parameter + 1];
  const Pieces::Range from = call.state.updated(gradient_id, gradient.size());
  const Pieces::Range to = call.state.updated(weight_id, weights.size());
  const bool matrix = slice_of(call, gradient_id).shape.size() > 1;
  return {static_cast<std::int64_t>(std::min(from.size(), to.size())), gradient.data() + from.begin,
          weights.data() + to.begin, matrix ? call.state.settings.weight_decay : 0};
}

/// Elements of a parameter's share of the optimizer state, padding included.
std::size_t state_elements(const Call& call, std::size_t parameter) {
  const std::size_t size = call.reads[parameter].size();
  return slice_of(call, call.operation.reads[parameter]).pieces > 1 ? size : call.state.pieces.padded_size(size);
}

/// {gradients, state} -> {state, weights}. AdamW's state: momentum of all pieces, padded, then their variance.
void run_optimizer(const Call& call) {
  const auto& k = call.kernel<Optimizer>();
  const RunSettings& s = call.state.settings;
  const double rate = s.rate_at(call.step);
  const std::size_t parameters = call.reads.size() - 1;
  float* momentum = k.kind == OptimizerKind::kAdamW ? call.write(0, 2 * k.parameters) : nullptr;
  for (std::size_t p = 0; p < parameters; ++p) {
    const Update u = update_of(call, p);
    if (k.kind == OptimizerKind::kSgd) {
      call.state.kernels.sgd(u.elements, rate, u.weight_decay, u.gradient, u.weights);
      continue;
    }
    const AdamWShape shape{.elements = u.elements,
                           .step = call.step + 1,
                           .learning_rate = rate,
                           .beta1 = s.beta1,
                           .beta2 = s.beta2,
                           .epsilon = s.epsilon,
                           .weight_decay = u.weight_decay};
    call.state.kernels.adamw(shape, u.gradient, momentum, momentum + k.parameters, u.weights);
    momentum += state_elements(call, p);
  }
}

constexpr std::array<Binding, 4> kBindings{{
    {"squared-norm", "gradient-norm", fits_squared_norm, run_squared_norm},
    {"elementwise scale", "clip", fits_clip, run_clip},
    {"elementwise zero", "zero-gradients", fits_zero, run_zero},
    {"optimizer", "optimizer", fits_optimizer, run_optimizer},
}};

}  // namespace

std::span<const Binding> update_bindings() { return kBindings; }

}  // namespace executor::cpu
