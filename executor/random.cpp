#include "executor/random.h"

#include <cmath>
#include <numbers>

namespace executor {

double RandomStream::normal(std::uint64_t index) const {
  const double radius = std::sqrt(-2 * std::log(uniform(2 * index)));
  return radius * std::cos(2 * std::numbers::pi * uniform(2 * index + 1));
}

}  // namespace executor
