// Number formats of tensors and matrix units.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace hw_models {

enum class DType : std::uint8_t { kFp32, kTf32, kBf16, kFp16, kFp8, kMxfp8, kNvfp4 };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  ///< as written in scenario and catalogue files
  double bytes;           ///< storage per element, with the scales of blocks that the matrix units read themselves
};

/// tf32 is stored as fp32. mxfp8: one byte and a scale of one byte per 32 elements (OCP Microscaling Formats 1.0);
/// nvfp4: half a byte and a scale of one byte per 16 elements (NVIDIA, arXiv:2509.25149).
inline constexpr std::array<DTypeInfo, 7> kDTypes{{{DType::kFp32, "fp32", 4},
                                                   {DType::kTf32, "tf32", 4},
                                                   {DType::kBf16, "bf16", 2},
                                                   {DType::kFp16, "fp16", 2},
                                                   {DType::kFp8, "fp8", 1},
                                                   {DType::kMxfp8, "mxfp8", 1 + 1.0 / 32},
                                                   {DType::kNvfp4, "nvfp4", 0.5 + 1.0 / 16}}};

/// A format of matrix products only: what is stored and sent between them is wider.
constexpr bool is_narrow(DType dtype) { return dtype >= DType::kFp8; }

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

/// Bytes of `elements`, rounded up.
inline std::int64_t storage_bytes(std::int64_t elements, DType dtype) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(elements) * info(dtype).bytes));
}

}  // namespace hw_models
