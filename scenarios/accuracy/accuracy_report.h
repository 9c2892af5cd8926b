// An AccuracyReport for people and for programs.
#pragma once

#include <string>

#include "scenarios/accuracy/accuracy.h"
#include "scenarios/accuracy/memory_accuracy.h"

namespace scenarios {

std::string accuracy_text(const AccuracyReport& report);
/// `memory`: of the runs whose memory was measured; it fills "memory" of every family and of the total.
std::string accuracy_json(const AccuracyReport& report, const MemoryAccuracy& memory);
/// One line per run: id, family, measured and predicted step, error in %, or why it was skipped.
std::string accuracy_csv(const AccuracyReport& report);
/// Predicted over measured, one point per scored row: one HTML file with an SVG in it.
std::string accuracy_html(const AccuracyReport& report);

}  // namespace scenarios
