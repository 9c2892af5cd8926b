// Numbers that a finding about a plan proposes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strategies {

/// "1, 2, 4 or 8"
std::string listed(const std::vector<std::int64_t>& values);

/// Up to five divisors of `value` around `near`.
std::vector<std::int64_t> divisors_near(std::int64_t value, std::int64_t near);

}  // namespace strategies
