// Tests of many cases take minutes with sanitizers, which see the same code on some of them.
#pragma once

#include <cstddef>
#include <vector>

namespace tests {

#ifdef TRAINYARD_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// All cases; with sanitizers the first of every four.
template <typename T>
std::vector<T> sampled(const std::vector<T>& cases) {
  if (!kSanitized) return cases;
  std::vector<T> some;
  for (std::size_t i = 0; i < cases.size(); i += 4) some.push_back(cases[i]);
  return some;
}

}  // namespace tests
