// What is trained, independent of how it is spread.
#pragma once

#include <cstdint>
#include <optional>

#include "hw_models/dtype.h"
#include "hw_models/kernel.h"
#include "strategies/expert_routing.h"
#include "strategies/scaling_recipe.h"

namespace strategies {

struct TrainingSpec {
  std::int64_t sequence_length = 0;
  std::int64_t global_batch = 0;                         ///< sequences per step
  hw_models::DType precision = hw_models::DType::kBf16;  ///< of the operands of matrix products
  Scaling scaling = Scaling::kUsual;                     ///< of narrow formats
  hw_models::OptimizerKind optimizer = hw_models::OptimizerKind::kAdamW;
  double tokens = 0;                          ///< of the whole run; 0 = unknown
  ExpertRouting routing = {};                 ///< of a mixture of experts
  std::optional<double> input_samples_per_s;  ///< what the input pipeline can deliver; empty = unlimited
};

}  // namespace strategies
