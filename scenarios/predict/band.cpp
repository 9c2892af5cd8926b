#include <cmath>

#include "scenarios/predict/prediction.h"

namespace scenarios {
namespace {

// 90 % quantile of |ln(predicted / measured)| over the buyer subset of the published runs (docs/accuracy.md); the test
// of the same name recomputes it.
constexpr double kError = 0.21;

}  // namespace

Band predict_band(double step_s) {
  return {step_s * std::exp(-kError), step_s * std::exp(kError),
          "the error of nine in ten of the published runs of 7B parameters and more (see docs/accuracy.md)"};
}

}  // namespace scenarios
