#include "scenarios/number_format.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace scenarios {
namespace {

std::string_view word(const strategies::TrainingSpec& training) {
  return training.scaling == strategies::Scaling::kUsual ? hw_models::info(training.precision).name
                                                         : strategies::info(training.scaling).name;
}

std::vector<std::string_view> formats_of(const hw_models::GpuSpec& gpu) {
  std::vector<std::string_view> supported;
  for (const hw_models::DTypeInfo& info : hw_models::kDTypes) {
    if (gpu.peak(info.dtype).value() > 0) supported.push_back(info.name);
  }
  return supported;
}

}  // namespace

std::optional<FormatDefect> format_defect(const strategies::TrainingSpec& training, const hw_models::GpuSpec& gpu,
                                          const strategies::Implementation& implementation) {
  if (gpu.peak(training.precision).value() <= 0) {
    return FormatDefect{
        fmt::format("the {} has no {} matrix units", gpu.name, hw_models::info(training.precision).name),
        fmt::format("use {}", fmt::join(formats_of(gpu), ", "))};
  }
  const strategies::LowPrecision& stack = implementation.low_precision;
  if (!hw_models::is_narrow(training.precision) || stack.find(training.scaling) != nullptr) return std::nullopt;
  std::vector<std::string_view> has;
  for (const strategies::RecipeUse& use : stack.recipes) {
    const strategies::ScalingRecipe& recipe = strategies::info(use.scaling);
    if (gpu.peak(recipe.format).value() > 0) has.push_back(recipe.name);
  }
  const std::string others = has.empty() ? "bf16" : fmt::format("{}", fmt::join(has, ", "));
  return FormatDefect{fmt::format("{} does not train in {}", implementation.name, word(training)),
                      fmt::format("use {}, or give the stack implementation.low_precision", others)};
}

strategies::Implementation on_gpu(strategies::Implementation implementation, const hw_models::GpuSpec& gpu) {
  implementation.low_precision.any_layout = implementation.low_precision.any_layout && gpu.fp8_any_layout;
  return implementation;
}

}  // namespace scenarios
