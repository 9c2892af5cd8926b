// How the products of a training's layers take their operands.
#pragma once

#include <cstdint>

#include "hw_models/dtype.h"
#include "strategies/implementation.h"
#include "strategies/training.h"

namespace strategies {

/// Without `on` products take what is stored. Bytes of one pass that narrows n elements of a bytes each into f:
/// reads a n, twice with `reads_twice`; writes f n, twice where the other product of the operand needs a copy.
struct NarrowFormat {
  bool on = false;
  hw_models::DType dtype = hw_models::DType::kBf16;
  bool reads_twice = false, fused_norm = false;
  bool two_directions = false;  ///< the copy is narrowed from the wide values along the other axis
  bool transposes = false;      ///< the copy has the same values transposed
  bool keeps = true;            ///< LowPrecision::keeps_narrow
  RecipeUse use;

  bool copies() const { return two_directions || transposes; }
  std::int64_t bytes(std::int64_t elements) const;
};

/// A stack without the recipe does with it what it would do with delayed scaling; loaders refuse it before.
NarrowFormat narrow_format(const TrainingSpec& training, const Implementation& implementation);

}  // namespace strategies
