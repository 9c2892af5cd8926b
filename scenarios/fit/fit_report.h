// What a fit found, for people; and the catalogue files that hold it.
#pragma once

#include <filesystem>
#include <string>

#include "scenarios/fit/cross_validation.h"
#include "scenarios/fit/fit.h"
#include "scenarios/fit/fit_problem.h"

namespace scenarios {

/// The parameters with uncertainty and redundancy, their number, errors by family before, after and left out, and the
/// catalogue lines to write.
std::string fit_text(const FitProblem& problem, const Fit& fit, const CrossValidation& left_out);

/// The fitted values, rounded as fit_text shows them, in copies of the catalogue's files: DIRECTORY/KIND/NAME.yaml, an
/// overlay for --catalog. Throws InputError when the place cannot be written.
void write_fitted(const std::filesystem::path& directory, const FitProblem& problem, const Fit& fit);

}  // namespace scenarios
