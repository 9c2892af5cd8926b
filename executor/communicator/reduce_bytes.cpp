#include "executor/communicator/reduce_bytes.h"

#include <cstring>

namespace executor {
namespace {

struct Sum {
  static float of(float a, float b) { return a + b; }
  static double of(double a, double b) { return a + b; }
  // Wraps around, as hardware does.
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};

struct Max {
  template <typename T>
  static T of(T a, T b) {
    return a > b || a != a ? a : b;  // a NaN on either side stays
  }
};

// memcpy of one number is a plain load: the loop is vectorised, and no alignment is assumed.
template <typename T, typename Operation>
void reduce(std::byte* into, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, into + i, sizeof(T));
    std::memcpy(&b, from + i, sizeof(T));
    a = Operation::of(a, b);
    std::memcpy(into + i, &a, sizeof(T));
  }
}

template <typename Operation>
void reduce(Element element, std::byte* into, const std::byte* from, std::size_t bytes) {
  switch (element) {
    case Element::kFloat32:
      return reduce<float, Operation>(into, from, bytes);
    case Element::kFloat64:
      return reduce<double, Operation>(into, from, bytes);
    case Element::kInt64:
      return reduce<std::int64_t, Operation>(into, from, bytes);
  }
}

}  // namespace

void reduce_bytes(Element element, Reduction reduction, std::byte* into, const std::byte* from, std::size_t bytes) {
  if (reduction == Reduction::kSum) {
    reduce<Sum>(element, into, from, bytes);
  } else {
    reduce<Max>(element, into, from, bytes);
  }
}

}  // namespace executor
