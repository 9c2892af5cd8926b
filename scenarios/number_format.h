// Whether a GPU and a stack can train in a number format, and what the GPU makes of the stack's way of doing it.
#pragma once

#include <optional>
#include <string>

#include "hw_models/gpu.h"
#include "strategies/implementation.h"
#include "strategies/training.h"

namespace scenarios {

struct NumberFormat {
  hw_models::DType dtype = hw_models::DType::kBf16;
  strategies::Scaling scaling = strategies::Scaling::kUsual;
};

struct FormatDefect {
  std::string message, advice;
};

/// What is missing: matrix units of the GPU, or the recipe in the stack.
std::optional<FormatDefect> format_defect(const strategies::TrainingSpec& training, const hw_models::GpuSpec& gpu,
                                          const strategies::Implementation& implementation);

/// The implementation as it runs on this GPU.
strategies::Implementation on_gpu(strategies::Implementation implementation, const hw_models::GpuSpec& gpu);

}  // namespace scenarios
