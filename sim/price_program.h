// Program + hardware -> Prices.
#pragma once

#include "hw_models/cluster.h"
#include "hw_models/gpu.h"
#include "hw_models/software.h"
#include "sim/prices.h"
#include "strategies/placement/placement.h"
#include "strategies/program/program.h"
#include "strategies/training.h"

namespace sim {

/// Collectives are priced for the slowest of the role's groups. Durations are rounded up to whole nanoseconds once.
Prices price_program(const strategies::Program& program, const hw_models::Cluster& cluster,
                     const hw_models::GpuSpec& gpu, const hw_models::SoftwareSpec& software,
                     const strategies::Placement& placement, const strategies::TrainingSpec& training);

}  // namespace sim
