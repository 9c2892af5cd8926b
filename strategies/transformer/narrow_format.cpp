#include "strategies/transformer/narrow_format.h"

namespace strategies {

std::int64_t NarrowFormat::bytes(std::int64_t elements) const { return storage_bytes(elements, dtype); }

NarrowFormat narrow_format(const TrainingSpec& training, const Implementation& implementation) {
  NarrowFormat narrow;
  narrow.dtype = training.precision;
  narrow.on = hw_models::is_narrow(training.precision);
  if (!narrow.on) return narrow;
  const LowPrecision& stack = implementation.low_precision;
  if (const RecipeUse* use = stack.find(training.scaling)) {
    narrow.use = *use;
  } else if (training.scaling != Scaling::kUsual) {
    narrow.use.scaling = training.scaling;
  }
  const ScalingRecipe& recipe = info(narrow.use.scaling);
  narrow.reads_twice = recipe.reads_twice;
  narrow.fused_norm = recipe.fused_norm && implementation.fused_elementwise;
  narrow.two_directions = recipe.two_directions;
  narrow.transposes = !recipe.two_directions && !stack.any_layout;
  narrow.keeps = stack.keeps_narrow;
  return narrow;
}

}  // namespace strategies
