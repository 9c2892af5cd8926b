// How tensors are scaled into formats of eight and four bits, and what a stack makes of it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hw_models/dtype.h"

namespace strategies {

enum class Scaling : std::uint8_t { kUsual, kDelayed, kTensorwise, kRowwise, kBlockwise, kMicroscaling, kTwoLevel };

struct ScalingRecipe {
  Scaling scaling;
  std::string_view name;  ///< as written in scenario and catalogue files
  hw_models::DType format;
  std::string_view scales;  ///< one line
  bool reads_twice;         ///< the largest value must be known before the first one is narrowed
  bool fused_norm;          ///< a norm writes narrow values itself
  bool two_directions;      ///< scales run along k: each of an operand's two products needs a copy of its own
};

/// Sources: NVIDIA Transformer Engine's recipes and quantizers (DelayedScaling, Float8CurrentScaling,
/// Float8BlockScaling, MXFP8BlockScaling, NVFP4BlockScaling), torchao's Float8LinearConfig (tensorwise, rowwise).
inline constexpr std::array<ScalingRecipe, 6> kScalingRecipes{
    {{Scaling::kDelayed, "fp8-delayed", hw_models::DType::kFp8, "one scale a tensor, from the steps before", false,
      true, false},
     {Scaling::kTensorwise, "fp8-tensorwise", hw_models::DType::kFp8, "one scale a tensor, its own", true, false,
      false},
     {Scaling::kRowwise, "fp8-rowwise", hw_models::DType::kFp8, "one scale a row or column", false, false, true},
     {Scaling::kBlockwise, "fp8-blockwise", hw_models::DType::kFp8, "a scale per 1 x 128, weights 128 x 128", false,
      false, true},
     {Scaling::kMicroscaling, "mxfp8", hw_models::DType::kMxfp8, "a scale per 32 elements", false, false, true},
     {Scaling::kTwoLevel, "nvfp4", hw_models::DType::kNvfp4, "a scale per 16 elements under one a tensor", true, false,
      true}}};

/// Not for kUsual, which is a stack's choice.
const ScalingRecipe& info(Scaling scaling);

/// Where a layer's weights are narrow.
enum class NarrowWeights : std::uint8_t {
  kBeside,  ///< copies that live beside the wide weights, made anew in every step
  kAlone,   ///< there are no wide weights (beyond the optimizer's master copy)
  kEachUse  ///< nothing is kept: weights are narrowed for every product
};

/// What a stack does under one recipe.
struct RecipeUse {
  Scaling scaling = Scaling::kDelayed;
  NarrowWeights weights = NarrowWeights::kBeside;
  bool narrow_gather = false;  ///< replicas gather the layers' weights narrow
  int wide_layers = 0;         ///< as many layers at either end of the model stay wide
};

/// Products of layers, not of attention or the LM head, with operands of eight or four bits.
struct LowPrecision {
  std::vector<RecipeUse> recipes;  ///< that the stack has; the first one is what `precision: fp8` means
  bool keeps_narrow = true;        ///< the weight gradient reads the forward's narrow copy; else the input is kept wide
                                   ///< and narrowed again
  bool any_layout = true;          ///< a fact of the GPUs (GpuSpec::fp8_any_layout); else fp8 needs transposed copies

  /// nullptr when the stack does not have it.
  const RecipeUse* find(Scaling scaling) const;
};

}  // namespace strategies
