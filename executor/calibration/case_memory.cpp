#include "executor/calibration/case_memory.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace executor {
namespace {

constexpr std::int64_t kAlignment = 16;          // floats: a cache line
constexpr std::int64_t kWindow = (8 << 20) / 4;  // floats; second-level caches have 0.5 to 4 MB, last-level 16 and more
constexpr std::uint32_t kMultiplier = 1664525, kIncrement = 1013904223;  // Numerical Recipes' generator

}  // namespace

CaseMemory::Cycle::Cycle(std::int64_t window, float value)
    : values_(static_cast<std::size_t>(kLargest + kAlignment), value), window_(window) {}

float* CaseMemory::Cycle::next(std::int64_t elements) {
  if (elements > kLargest)
    throw std::logic_error("an operand of " + std::to_string(elements) + " numbers is too large");
  const std::int64_t limit = std::max(window_, elements);
  if (at_ + elements > limit) at_ = 0;
  float* piece = values_.data() + at_;
  at_ += (elements + kAlignment - 1) / kAlignment * kAlignment;
  return piece;
}

CaseMemory::CaseMemory()
    : recent_input_(kWindow, 0.75F), distant_input_(kLargest, 0.75F), recent_(kWindow, 1), distant_(kLargest, 1) {
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < kTokens; ++i) {
    state = state * kMultiplier + kIncrement;
    tokens_.push_back(static_cast<std::int32_t>(state >> 24));  // 0 to 255
  }
}

}  // namespace executor
