// Summaries of errors and verdicts as JSON objects.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "scenarios/accuracy/errors.h"
#include "scenarios/accuracy/memory_accuracy.h"

namespace scenarios {

/// {"n", "median_abs_error", "p90_abs_error", "bias"}
nlohmann::ordered_json errors_json(const ErrorSummary& errors);

/// [{"reason", "count"}]
nlohmann::ordered_json skipped_json(const std::map<std::string, int>& skipped);

/// The errors and "verdicts": {"n", "right", "false_fit", "false_oom"}
nlohmann::ordered_json memory_json(const ErrorSummary& errors, const Verdicts& verdicts);

}  // namespace scenarios
