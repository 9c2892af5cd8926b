#include "strategies/scaling_recipe.h"

#include <algorithm>

namespace strategies {

const ScalingRecipe& info(Scaling scaling) {
  return *std::find_if(kScalingRecipes.begin(), kScalingRecipes.end(),
                       [scaling](const ScalingRecipe& recipe) { return recipe.scaling == scaling; });
}

const RecipeUse* LowPrecision::find(Scaling scaling) const {
  if (scaling == Scaling::kUsual) return recipes.empty() ? nullptr : &recipes.front();
  const auto found =
      std::find_if(recipes.begin(), recipes.end(), [scaling](const RecipeUse& use) { return use.scaling == scaling; });
  return found == recipes.end() ? nullptr : &*found;
}

}  // namespace strategies
