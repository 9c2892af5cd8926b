// A mix of 64 bits for what must be the same on every machine: hashes, and random numbers as functions of an index.
#pragma once

#include <cstdint>

namespace hw_models {

/// 2^64 / golden ratio: SplitMix64's increment.
inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// Finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, "Fast splittable pseudorandom number generators"): every
/// input bit flips every output bit with probability about 1/2.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace hw_models
