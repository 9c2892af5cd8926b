// Which kernel runs which compute operation of a Program.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "executor/cpu/rank_state.h"
#include "strategies/program/program.h"

namespace executor::cpu {

/// One execution of an operation, its operands in memory.
struct Call {
  RankState& state;
  const strategies::Operation& operation;
  std::span<const std::span<float>> reads, writes;
  int step = 0, microbatch = -1;

  template <class Kernel>
  const Kernel& kernel() const {
    return std::get<Kernel>(std::get<strategies::Compute>(operation.work).kernel);
  }
  /// Operand `index`, which must hold `elements` at least; std::logic_error otherwise.
  float* read(std::size_t index, std::int64_t elements) const;
  float* write(std::size_t index, std::int64_t elements) const;
};

struct Binding {
  std::string_view kernel, label;  ///< for documentation; `fits` decides
  bool (*fits)(const strategies::Operation& operation);
  void (*run)(const Call& call);
};

/// Of one kernel family each; the first binding that fits an operation runs it.
std::span<const Binding> context_bindings();     ///< attention by blocks, of sequences that are split
std::span<const Binding> reordering_bindings();  ///< rows in the order of another owner
std::span<const Binding> tensor_bindings();      ///< matmul, attention, norm, elementwise
std::span<const Binding> end_bindings();         ///< embedding, positions, loss
std::span<const Binding> update_bindings();      ///< gradient norm, clipping, optimizer

/// nullptr: the backend has no kernel for it.
const Binding* find_binding(const strategies::Operation& operation);

/// The kernel of `operation` if it is a `Kernel`, else nullptr.
template <class Kernel>
const Kernel* kernel_of(const strategies::Operation& operation) {
  const auto* compute = std::get_if<strategies::Compute>(&operation.work);
  return compute == nullptr ? nullptr : std::get_if<Kernel>(&compute->kernel);
}

/// The pass over elements of that kind, else nullptr.
inline const hw_models::Elementwise* pass_of(const strategies::Operation& operation, hw_models::ElementwiseKind kind) {
  const auto* k = kernel_of<hw_models::Elementwise>(operation);
  return k != nullptr && k->kind == kind ? k : nullptr;
}

}  // namespace executor::cpu
