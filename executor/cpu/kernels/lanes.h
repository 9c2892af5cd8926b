// Eight numbers worked on at once, written with the compiler's vector types: the order of a sum is the same for every
// instruction set and every address, which neither auto-vectorisation nor Eigen's reductions promise.
#pragma once

#include "executor/cpu/kernels/kernel_build.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // cmake/kernel_build.cmake

namespace executor::cpu::TRAINYARD_KERNEL_BUILD {

inline constexpr int kLanes = 8;
using Lanes [[gnu::vector_size(kLanes * sizeof(Scalar))]] = Scalar;

/// All lanes `value`.
[[gnu::always_inline]] inline Lanes fill(Scalar value) { return value - Lanes{}; }

/// kLanes consecutive elements.
struct Whole {
  [[gnu::always_inline]] static Lanes load(const Scalar* from, Scalar /*rest*/ = 0) {
    Lanes lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
  }
  [[gnu::always_inline]] static void store(Scalar* to, Lanes lanes) { __builtin_memcpy(to, &lanes, sizeof lanes); }
};

/// The last elements of an array, fewer than kLanes; the other lanes are read as zero (or `rest`) and not written.
struct Tail {
  std::int64_t count;
  [[gnu::always_inline]] Lanes load(const Scalar* from, Scalar rest = 0) const {
    Lanes lanes = fill(rest);
    for (int i = 0; i < count; ++i) lanes[i] = from[i];
    return lanes;
  }
  [[gnu::always_inline]] void store(Scalar* to, Lanes lanes) const {
    for (int i = 0; i < count; ++i) to[i] = lanes[i];
  }
};

/// body(part, i) for every part [i, i + kLanes) of `elements`, the last one as a Tail.
template <class Body>
[[gnu::always_inline]] inline void for_parts(std::int64_t elements, Body&& body) {
  std::int64_t i = 0;
  for (; i + kLanes <= elements; i += kLanes) body(Whole{}, i);
  if (i < elements) body(Tail{elements - i}, i);
}

/// sum = a + b; `sum` may be either.
[[gnu::always_inline]] inline void add(std::int64_t elements, const Scalar* a, const Scalar* b, Scalar* sum) {
  for_parts(elements, [&](auto part, std::int64_t i) { part.store(sum + i, part.load(a + i) + part.load(b + i)); });
}

[[gnu::always_inline]] inline Scalar total(Lanes x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/// What the build's registers hold. g++ 12 compares wider vectors one lane at a time.
#ifdef __AVX__
inline constexpr std::size_t kRegisterBytes = 32;
#else
inline constexpr std::size_t kRegisterBytes = 16;
#endif
using Piece [[gnu::vector_size(kRegisterBytes)]] = Scalar;
inline constexpr std::size_t kPieces = sizeof(Lanes) / sizeof(Piece);

/// choose(a, b) for every piece.
template <class Choose>
[[gnu::always_inline]] inline Lanes choose_pieces(Lanes a, Lanes b, Choose choose) {
  Piece x[kPieces], y[kPieces];
  __builtin_memcpy(x, &a, sizeof a);
  __builtin_memcpy(y, &b, sizeof b);
  for (std::size_t i = 0; i < kPieces; ++i) x[i] = choose(x[i], y[i]);
  __builtin_memcpy(&a, x, sizeof a);
  return a;
}

/// b if either is a NaN.
[[gnu::always_inline]] inline Lanes larger(Lanes a, Lanes b) {
  return choose_pieces(a, b, [](Piece x, Piece y) { return x > y ? x : y; });
}
[[gnu::always_inline]] inline Lanes smaller(Lanes a, Lanes b) {
  return choose_pieces(a, b, [](Piece x, Piece y) { return x < y ? x : y; });
}
/// 1 where x > 0, elsewhere 0.
[[gnu::always_inline]] inline Lanes positive(Lanes x) {
  return choose_pieces(x, fill(1), [](Piece a, Piece one) { return a > Scalar(0) ? one : Piece{}; });
}
[[gnu::always_inline]] inline Scalar largest(Lanes x) {
  Scalar result = x[0];
  for (int i = 1; i < kLanes; ++i) result = x[i] > result ? x[i] : result;
  return result;
}
/// Minus infinity of no elements.
[[gnu::always_inline]] inline Scalar maximum_of(std::int64_t elements, const Scalar* x) {
  const Scalar lowest = -Scalar(__builtin_inff());
  Lanes maxima = fill(lowest);
  for_parts(elements, [&](auto part, std::int64_t i) { maxima = larger(part.load(x + i, lowest), maxima); });
  return largest(maxima);
}

[[gnu::always_inline]] inline float root_of(float x) { return __builtin_sqrtf(x); }
[[gnu::always_inline]] inline double root_of(double x) { return __builtin_sqrt(x); }
[[gnu::always_inline]] inline float exponential_of(float x) { return __builtin_expf(x); }
[[gnu::always_inline]] inline double exponential_of(double x) { return __builtin_exp(x); }

[[gnu::always_inline]] inline Lanes root(Lanes x) {
  Lanes result;
  for (int i = 0; i < kLanes; ++i) result[i] = root_of(x[i]);
  return result;
}

/// e^x. Single precision: within 2e-7 of it for x in [-87.3, 88.3]; beyond, the value at the nearer end.
[[gnu::always_inline]] inline Lanes exponential(Lanes x) {
  if constexpr (sizeof(Scalar) == sizeof(float)) {
    using Bits [[gnu::vector_size(kLanes * sizeof(Scalar))]] = int;
    constexpr Scalar kLowest = -87.3f, kHighest = 88.3f;  // e^x stays a normal number
    x = larger(fill(kLowest), x);                         // a NaN stays one
    x = smaller(fill(kHighest), x);
    // x = n ln 2 + r with |r| <= ln(2) / 2. Adding 1.5 x 2^23 leaves the integer n in the lowest bits of `shifted`.
    constexpr Scalar kRound = 12582912.0f, kLog2E = 1.44269504088896341f;
    constexpr Scalar kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
    const Lanes shifted = x * kLog2E + kRound;
    const Lanes n = shifted - kRound;
    const Lanes r = (x - n * kLn2High) - n * kLn2Low;
    // Minimax polynomial of Cephes' expf (Moshier, public domain).
    Lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    constexpr int kMantissaBits = 23;
    return __builtin_bit_cast(Lanes,
                              __builtin_bit_cast(Bits, p) + (__builtin_bit_cast(Bits, shifted) << kMantissaBits));
  } else {
    Lanes result;
    for (int i = 0; i < kLanes; ++i) result[i] = exponential_of(x[i]);
    return result;
  }
}

/// 1 / (1 + e^-x)
[[gnu::always_inline]] inline Lanes logistic(Lanes x) { return Scalar(1) / (Scalar(1) + exponential(-x)); }

}  // namespace executor::cpu::TRAINYARD_KERNEL_BUILD
