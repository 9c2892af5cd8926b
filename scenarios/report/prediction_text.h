// A Prediction for people and for programs.
#pragma once

#include <string>

#include "scenarios/predict/prediction.h"

namespace scenarios {

/// The tables of `simulate`.
std::string prediction_text(const Scenario& scenario, const Prediction& prediction);
/// The memory table and its verdict alone.
std::string memory_text(const Scenario& scenario, const MemoryPrediction& memory);

/// The JSON contract of `simulate --json` (docs/scenario.md), two-space indented, ending in a newline.
std::string prediction_json(const Prediction& prediction);
std::string memory_json(const Scenario& scenario, const MemoryPrediction& memory, const std::string& fingerprint);

}  // namespace scenarios
