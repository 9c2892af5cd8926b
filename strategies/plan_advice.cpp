#include "strategies/plan_advice.h"

#include <algorithm>
#include <cstddef>

namespace strategies {

std::string listed(const std::vector<std::int64_t>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += i + 1 == values.size() ? " or " : ", ";
    text += std::to_string(values[i]);
  }
  return text;
}

std::vector<std::int64_t> divisors_near(std::int64_t value, std::int64_t near) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d * d <= value; ++d) {
    if (value % d != 0) continue;
    divisors.push_back(d);
    if (d != value / d) divisors.push_back(value / d);
  }
  std::ranges::sort(divisors);
  const auto above = std::ranges::lower_bound(divisors, near);
  const auto first = above - std::min<std::ptrdiff_t>(3, above - divisors.begin());
  const auto last = first + std::min<std::ptrdiff_t>(5, divisors.end() - first);
  return {first, last};
}

}  // namespace strategies
