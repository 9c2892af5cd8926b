// Memory that measured kernels work on, as cold as it is in a training step.
//
//   recent: what the operation before has produced, or a temporary: cycles within a window that the last-level cache
//           holds and the second-level cache does not
//   distant: what a step comes back to after everything else: weights, gradients, kept activations; cycles over more
//           than the last-level cache holds
#pragma once

#include <cstdint>
#include <vector>

namespace executor {

class CaseMemory {
 public:
  static constexpr std::int64_t kLargest = std::int64_t{4096} * 4096;  ///< floats of one operand

  CaseMemory();
  // The next `elements` <= kLargest floats. Inputs are about one and never written, outputs may hold anything.
  const float* recent_input(std::int64_t elements) { return recent_input_.next(elements); }
  const float* distant_input(std::int64_t elements) { return distant_input_.next(elements); }
  float* recent(std::int64_t elements) { return recent_.next(elements); }
  float* distant(std::int64_t elements) { return distant_.next(elements); }
  /// Of a byte-level vocabulary, at most kTokens.
  const std::int32_t* tokens() const { return tokens_.data(); }
  static constexpr std::int32_t kVocabulary = 256;
  static constexpr std::int64_t kTokens = 65536;

 private:
  class Cycle {
   public:
    Cycle(std::int64_t window, float value);
    float* next(std::int64_t elements);

   private:
    std::vector<float> values_;
    std::int64_t window_, at_ = 0;
  };

  Cycle recent_input_, distant_input_, recent_, distant_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace executor
