// Numbers that are a function of what they are for, so that no plan and no restart changes them.
#pragma once

#include <cstdint>
#include <string_view>

#include "hw_models/mixed.h"

namespace executor {

/// 64 random bits of number `index` of the stream `name`.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name) : key_(hw_models::mixed(seed + hw_models::kGolden)) {
    for (const char c : name) key_ = hw_models::mixed(key_ ^ static_cast<unsigned char>(c)) + hw_models::kGolden;
  }
  std::uint64_t bits(std::uint64_t index) const { return hw_models::mixed(key_ + index * hw_models::kGolden); }
  /// In (0, 1).
  double uniform(std::uint64_t index) const { return (static_cast<double>(bits(index) >> 11) + 0.5) * 0x1p-53; }
  /// Mean 0, deviation 1 (Box and Muller 1958; of each pair of uniforms one normal number is used).
  double normal(std::uint64_t index) const;

 private:
  std::uint64_t key_;
};

}  // namespace executor
