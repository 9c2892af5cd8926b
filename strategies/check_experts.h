// What expert parallelism asks of a mixture of experts and of the mesh.
#pragma once

#include <vector>

#include "strategies/build_program.h"

namespace strategies {

/// Appends what is wrong.
void check_experts(const ModelSpec& model, const TrainingSpec& training, const PlanSpec& plan,
                   std::vector<PlanFinding>& findings);

}  // namespace strategies
