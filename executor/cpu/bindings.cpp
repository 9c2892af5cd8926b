#include "executor/cpu/bindings.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace executor::cpu {
namespace {

float* checked(const Call& call, std::span<const std::span<float>> operands, std::size_t index, std::int64_t elements) {
  if (index < operands.size() && operands[index].size() >= static_cast<std::size_t>(elements)) {
    return operands[index].data();
  }
  throw std::logic_error("operand " + std::to_string(index) + " of operation '" + call.operation.origin.label +
                         "' is missing or too small");
}

}  // namespace

float* Call::read(std::size_t index, std::int64_t elements) const { return checked(*this, reads, index, elements); }
float* Call::write(std::size_t index, std::int64_t elements) const { return checked(*this, writes, index, elements); }

const Binding* find_binding(const strategies::Operation& operation) {
  for (const auto& bindings :
       {context_bindings(), reordering_bindings(), tensor_bindings(), end_bindings(), update_bindings()}) {
    const auto found = std::ranges::find_if(bindings, [&](const Binding& each) { return each.fits(operation); });
    if (found != bindings.end()) return &*found;
  }
  return nullptr;
}

}  // namespace executor::cpu
