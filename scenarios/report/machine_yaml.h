// A calibrated machine as a node file: `cluster: {node: machine.yaml}`.
#pragma once

#include <string>

#include "executor/calibration/calibration.h"

namespace scenarios {

/// Above this typical coefficient of variation, or share of time without a core, or with fewer rounds, the figures are
/// not to be trusted.
inline constexpr double kTooNoisy = 0.15;
inline constexpr int kFewestRounds = 6;  ///< the fewest that bound a median with 95 % confidence
bool is_noisy(const executor::Calibration& calibration);

/// What the tables say in short; the best product and the rate of memory follow from them.
double best_product_flops(const hw_models::MeasuredKernels& kernels);
double memory_bytes_per_s(const hw_models::MeasuredKernels& kernels);

std::string machine_yaml(const executor::Calibration& calibration);

/// A table of the kinds with their spread, for people.
std::string calibration_text(const executor::Calibration& calibration);

}  // namespace scenarios
