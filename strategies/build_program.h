// model + training + plan + implementation -> Program.
#pragma once

#include <string>
#include <vector>

#include "strategies/implementation.h"
#include "strategies/model.h"
#include "strategies/plan.h"
#include "strategies/program/program.h"
#include "strategies/training.h"

namespace strategies {

/// A field the loader can point at: path "plan.tensor", what is wrong, and what would be right.
struct PlanFinding {
  std::string path, message, advice;
  bool warning = false;
};

/// Everything that makes the combination impossible or odd; errors first make build_program throw.
std::vector<PlanFinding> check_plan(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                                    const Implementation& implementation);

/// Precondition: check_plan reports no error (std::invalid_argument otherwise).
Program build_program(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                      const Implementation& implementation);

}  // namespace strategies
