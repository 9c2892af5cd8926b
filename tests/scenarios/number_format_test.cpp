#include "scenarios/number_format.h"

#include <gtest/gtest.h>

#include "scenarios/catalog.h"

namespace scenarios {
namespace {

const Catalog& catalog() {
  static const Catalog catalog;
  return catalog;
}

std::string refusal(const char* gpu, const char* stack, const strategies::ScalingRecipe& recipe) {
  strategies::TrainingSpec training;
  training.precision = recipe.format;
  training.scaling = recipe.scaling;
  const auto implementation = catalog().software(stack).value().implementation;
  const auto defect = format_defect(training, catalog().gpu(gpu).value(), implementation);
  return defect ? defect->message + ": " + defect->advice : "";
}

TEST(NumberFormat, WhatGpuAndStackHaveIsAccepted) {
  for (const strategies::ScalingRecipe& recipe : strategies::kScalingRecipes) {
    const bool scaled_by_hardware = recipe.format != hw_models::DType::kFp8;
    if (recipe.scaling != strategies::Scaling::kRowwise) {
      EXPECT_EQ(refusal("gb200", "nemo", recipe), "") << recipe.name;
    }
    EXPECT_EQ(refusal("h100-sxm-80gb", "generic", recipe).find("the h100-sxm-80gb has no ") == 0, scaled_by_hardware);
  }
}

TEST(NumberFormat, WhatIsMissingIsNamed) {
  EXPECT_EQ(refusal("h100-sxm-80gb", "nemo", strategies::info(strategies::Scaling::kMicroscaling)),
            "the h100-sxm-80gb has no mxfp8 matrix units: use fp32, tf32, bf16, fp16, fp8");
  EXPECT_EQ(refusal("h100-sxm-80gb", "torchtitan", strategies::info(strategies::Scaling::kDelayed)),
            "torchtitan does not train in fp8-delayed: use fp8-tensorwise, fp8-rowwise, or give the stack "
            "implementation.low_precision");
  EXPECT_EQ(refusal("b200-sxm", "nanotron", strategies::info(strategies::Scaling::kTwoLevel)),
            "nanotron does not train in nvfp4: use bf16, or give the stack implementation.low_precision");
}

// Transposed copies are a matter of Hopper's and Ada's matrix units.
TEST(NumberFormat, TheGpuDecidesAboutTransposedCopies) {
  for (const auto& [gpu, any_layout] :
       {std::pair{"h100-sxm-80gb", false}, std::pair{"rtx-4090", false}, std::pair{"rtx-5090", false},
        std::pair{"b200-sxm", true}, std::pair{"gb300", true}}) {
    EXPECT_EQ(on_gpu({}, catalog().gpu(gpu).value()).low_precision.any_layout, any_layout) << gpu;
  }
}

}  // namespace
}  // namespace scenarios
