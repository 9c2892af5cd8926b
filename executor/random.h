// Numbers that are a function of what they are for, so that no plan and no restart changes them.
#pragma once

#include <cstdint>
#include <string_view>

namespace executor {

/// Finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every input bit flips every output bit with probability
/// about 1/2.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// 64 random bits of number `index` of the stream `name`.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name) : key_(mixed(seed + kGolden)) {
    for (const char c : name) key_ = mixed(key_ ^ static_cast<unsigned char>(c)) + kGolden;
  }
  std::uint64_t bits(std::uint64_t index) const { return mixed(key_ + index * kGolden); }
  /// In (0, 1).
  double uniform(std::uint64_t index) const { return (static_cast<double>(bits(index) >> 11) + 0.5) * 0x1p-53; }
  /// Mean 0, deviation 1 (Box and Muller 1958; of each pair of uniforms one normal number is used).
  double normal(std::uint64_t index) const;

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;  ///< 2^64 / golden ratio: SplitMix64's increment
  std::uint64_t key_;
};

}  // namespace executor
