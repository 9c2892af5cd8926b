// What context parallelism asks of sequences, heads and kernels.
#pragma once

#include <vector>

#include "strategies/build_program.h"

namespace strategies {

/// Appends what is wrong.
void check_context(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                   const Implementation& implementation, std::vector<PlanFinding>& findings);

}  // namespace strategies
