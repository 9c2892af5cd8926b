// Summaries of errors and verdicts as JSON objects.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenarios/accuracy/errors.h"
#include "scenarios/accuracy/memory_accuracy.h"

namespace scenarios {

/// {"n", "median_abs_error", "p90_abs_error", "bias"}
nlohmann::ordered_json errors_json(const ErrorSummary& errors);

/// The same and "verdicts": {"n", "right", "false_fit", "false_oom"}
nlohmann::ordered_json memory_json(const ErrorSummary& errors, const Verdicts& verdicts);

}  // namespace scenarios
