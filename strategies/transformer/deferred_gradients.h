// Weight gradients that a backward block leaves to a block of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/program/program.h"
#include "strategies/transformer/parameters.h"

namespace strategies {

/// dW[out, in] += dy^T x; of experts dW[groups, out, in], each from its share of the rows.
struct WeightProduct {
  std::string label;
  BufferId dy, x;
  std::int64_t in = 1, out = 1;
  hw_models::DType dtype = hw_models::DType::kBf16;
  bool gathers = false;   ///< x is the rank's own rows of the sequence, dy all rows
  bool own_rows = false;  ///< both are the rank's own rows: a replicated weight, whose gradients are summed later
  std::int64_t rows = 0;  ///< of dy and x in all groups; 0 = of a microbatch
  std::int64_t groups = 1;
  bool adds = false;  ///< the weight has got a gradient in this pass before
};

/// A product that is left to do, or a parameter whose gradient is complete once all before it are done.
struct DeferredGradient {
  const Parameter* parameter = nullptr;
  int layer = -1;
  std::optional<WeightProduct> product;
};

/// Of one chunk, in the order in which its backward block came by them.
using DeferredGradients = std::vector<DeferredGradient>;

}  // namespace strategies
