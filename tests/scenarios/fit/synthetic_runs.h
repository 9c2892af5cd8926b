// Runs whose "measured" steps are predictions of a catalogue that we know.
#pragma once

#include <string>
#include <vector>

#include "scenarios/accuracy/measured_run.h"
#include "scenarios/catalog.h"
#include "scenarios/fit/fitted_parameters.h"

namespace scenarios {

/// Two parameters of Megatron-Core on A100 that can be told apart: one rules launch-bound steps, the other large ones.
std::vector<FittedParameter> two_parameters();

/// The embedded catalogue with these values of two_parameters().
Catalog catalog_with(double kernel_launch_us, double sustained_clock);

/// 12 runs in four groups of two families, two groups launch-bound; measured as `truth` predicts them.
std::vector<MeasuredRun> synthetic_runs(const Catalog& truth);

}  // namespace scenarios
