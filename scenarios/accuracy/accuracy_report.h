// An AccuracyReport for people and for programs.
#pragma once

#include <string>

#include "scenarios/accuracy/accuracy.h"

namespace scenarios {

std::string accuracy_text(const AccuracyReport& report);
std::string accuracy_json(const AccuracyReport& report);
/// One line per run: id, family, measured and predicted step, error in %, or why it was skipped.
std::string accuracy_csv(const AccuracyReport& report);
/// Predicted over measured, one point per scored row: one HTML file with an SVG in it.
std::string accuracy_html(const AccuracyReport& report);

}  // namespace scenarios
