// Number formats of tensors and matrix units.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hw_models {

enum class DType : std::uint8_t { kFp32, kTf32, kBf16, kFp16, kFp8, kFp4 };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  ///< as written in scenario and catalogue files
  double bytes;           ///< storage per element; tf32 is stored as fp32, fp4 takes half a byte
};

inline constexpr std::array<DTypeInfo, 6> kDTypes{{{DType::kFp32, "fp32", 4},
                                                   {DType::kTf32, "tf32", 4},
                                                   {DType::kBf16, "bf16", 2},
                                                   {DType::kFp16, "fp16", 2},
                                                   {DType::kFp8, "fp8", 1},
                                                   {DType::kFp4, "fp4", 0.5}}};

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

}  // namespace hw_models
