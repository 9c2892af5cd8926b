#include "strategies/scaling_recipe.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace strategies {
namespace {

TEST(ScalingRecipe, EveryRecipeIsFoundByItsScalingAndHasItsName) {
  std::set<std::string_view> names;
  for (const ScalingRecipe& recipe : kScalingRecipes) {
    EXPECT_EQ(&info(recipe.scaling), &recipe);
    EXPECT_TRUE(names.insert(recipe.name).second) << recipe.name;
    EXPECT_TRUE(hw_models::is_narrow(recipe.format)) << recipe.name;
    EXPECT_FALSE(recipe.fused_norm && recipe.reads_twice) << recipe.name;  // a norm knows its largest value too late
  }
}

TEST(ScalingRecipe, TheFirstOfAStackIsWhatItUsuallyDoes) {
  LowPrecision stack;
  EXPECT_EQ(stack.find(Scaling::kUsual), nullptr);
  stack.recipes = {{.scaling = Scaling::kTensorwise}, {.scaling = Scaling::kMicroscaling}};
  EXPECT_EQ(stack.find(Scaling::kUsual), &stack.recipes[0]);
  EXPECT_EQ(stack.find(Scaling::kMicroscaling), &stack.recipes[1]);
  EXPECT_EQ(stack.find(Scaling::kDelayed), nullptr);
}

}  // namespace
}  // namespace strategies
