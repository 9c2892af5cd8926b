// The ends of the model: tokens, positions, loss.
#include <array>

#include "executor/cpu/bindings.h"

namespace executor::cpu {
namespace {

using hw_models::CrossEntropy;
using hw_models::DType;
using hw_models::Elementwise;
using hw_models::ElementwiseKind;
using hw_models::Embedding;
using strategies::Operation;

template <bool backward>
bool fits_embedding(const Operation& operation) {
  const auto* k = kernel_of<Embedding>(operation);
  return k != nullptr && k->backward == backward && k->dtype == DType::kFp32;
}

EmbeddingShape shape_of(const Call& call, const Embedding& k) {
  return {.tokens = k.tokens,
          .hidden = k.hidden,
          .first_row = k.vocabulary * call.state.place.tensor,
          .rows = k.vocabulary};
}

/// {table} -> {rows of the microbatch's tokens}
void run_embedding(const Call& call) {
  const auto& k = call.kernel<Embedding>();
  const Batch batch = call.state.batch(call.step, call.microbatch, k.tokens);
  call.state.kernels.embedding_forward(shape_of(call, k), batch.ids.data(), call.read(0, k.vocabulary * k.hidden),
                                       call.write(0, k.tokens * k.hidden));
}

PositionShape position_shape(const Call& call, const PositionRun& run, std::int64_t hidden) {
  return {.rows = run.length, .hidden = hidden, .sequence = call.state.order.sequence, .first_row = run.position};
}

/// {gradient of the rows} -> {gradient of the table, gradient of the position table if any}
void run_embedding_backward(const Call& call) {
  const auto& k = call.kernel<Embedding>();
  const Batch batch = call.state.batch(call.step, call.microbatch, k.tokens);
  const float* rows = call.read(0, k.tokens * k.hidden);
  call.state.kernels.embedding_backward(shape_of(call, k), batch.ids.data(), rows,
                                        call.write(0, k.vocabulary * k.hidden));
  if (k.position_rows == 0) return;
  const std::int64_t first = k.position_rows < k.tokens ? k.position_rows * call.state.place.tensor : 0;
  float* gradient = call.write(1, call.state.order.sequence * k.hidden);
  for (const PositionRun& run : call.state.position_runs(first, k.position_rows)) {
    call.state.kernels.position_gradient(position_shape(call, run, k.hidden), rows + run.token * k.hidden, gradient);
  }
}

bool fits_position(const Operation& operation) {
  return pass_of(operation, ElementwiseKind::kAdd) != nullptr && operation.origin.label == "position-add";
}

/// {rows, position table} -> {their sum}. Tensor ranks that share the rows hold equal shares in their order; those that
/// do not hold whole sequences, so that the first row is at position 0 on each.
void run_position(const Call& call) {
  const auto& k = call.kernel<Elementwise>();
  const std::int64_t rows = k.elements / k.columns;
  const std::int64_t first = rows * call.state.place.tensor;
  const float *x = call.read(0, k.elements), *table = call.read(1, call.state.order.sequence * k.columns);
  float* y = call.write(0, k.elements);
  for (const PositionRun& run : call.state.position_runs(first, rows)) {
    const std::int64_t at = (run.token - first) * k.columns;
    call.state.kernels.position_add(position_shape(call, run, k.columns), x + at, table, y + at);
  }
}

template <bool backward>
bool fits_loss(const Operation& operation) {
  const auto* k = kernel_of<CrossEntropy>(operation);
  return k != nullptr && k->backward == backward && k->logits == DType::kFp32;
}

/// The vocabulary columns of this rank's loss.
CrossEntropyShape loss_shape(const RankState& state, const CrossEntropy& k) {
  return {.tokens = k.tokens,
          .columns = k.vocabulary,
          .first_column = k.vocabulary * state.place.tensor,
          .vocabulary = k.vocabulary * state.place.tensors - k.padding};
}

/// {logits} -> {exponentials}; the loss is known here, or after the collectives where the columns are split.
void run_loss(const Call& call) {
  RankState& state = call.state;
  const auto& k = call.kernel<CrossEntropy>();
  const CrossEntropyShape shape = loss_shape(state, k);
  const Batch batch = state.batch(call.step, call.microbatch, k.tokens);
  LossRows& rows = state.loss_rows.insert_or_assign(call.microbatch, LossRows(k.tokens)).first->second;
  state.kernels.cross_entropy_forward(shape, call.read(0, k.tokens * k.vocabulary), batch.targets.data(),
                                      call.write(0, k.tokens * k.vocabulary), rows.view());
  if (state.place.tensors == 1) state.loss_sum += state.kernels.cross_entropy_loss(shape, rows.view());
}

/// {exponentials} -> {gradient of the logits} of the mean over the global batch
void run_loss_backward(const Call& call) {
  RankState& state = call.state;
  const auto& k = call.kernel<CrossEntropy>();
  const Batch batch = state.batch(call.step, call.microbatch, k.tokens);
  const double weight = 1.0 / static_cast<double>(state.program.tokens_per_step);
  state.kernels.cross_entropy_backward(loss_shape(state, k), call.read(0, k.tokens * k.vocabulary),
                                       batch.targets.data(), state.loss_rows.at(call.microbatch).view(), weight,
                                       call.write(0, k.tokens * k.vocabulary));
  state.loss_rows.erase(call.microbatch);
}

bool fits_logits_cast(const Operation& operation) {
  const auto* k = pass_of(operation, ElementwiseKind::kCast);
  return k != nullptr && k->bytes_read == k->bytes_written && operation.origin.label == "logits-cast";
}

/// {logits} -> {the same}: a stack that widens them in a pass of its own
void run_copy(const Call& call) {
  const std::int64_t elements = call.kernel<Elementwise>().elements;
  call.state.kernels.copy(elements, call.read(0, elements), call.write(0, elements));
}

constexpr std::array<Binding, 6> kBindings{{
    {"embedding", "embedding", fits_embedding<false>, run_embedding},
    {"embedding", "embedding-backward", fits_embedding<true>, run_embedding_backward},
    {"elementwise add", "position-add", fits_position, run_position},
    {"cross-entropy", "cross-entropy", fits_loss<false>, run_loss},
    {"cross-entropy", "cross-entropy-backward", fits_loss<true>, run_loss_backward},
    {"elementwise cast", "logits-cast", fits_logits_cast, run_copy},
}};

}  // namespace

std::span<const Binding> end_bindings() { return kBindings; }

}  // namespace executor::cpu
