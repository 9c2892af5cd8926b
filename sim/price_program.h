// Program + hardware -> Prices of classes of ranks.
#pragma once

#include "hw_models/cluster.h"
#include "hw_models/gpu.h"
#include "hw_models/software.h"
#include "sim/prices.h"
#include "sim/rank_classes.h"
#include "strategies/placement/placement.h"
#include "strategies/program/program.h"
#include "strategies/training.h"

namespace sim {

/// Communication is priced for the slowest rank of a class. Durations are rounded up to whole nanoseconds once. `gpu`:
/// of every node; in a mixed cluster the GPUs are those of its pools, and all ranks of a class must sit in one pool
/// (folded_by_price and single_ranks see to it), else throws std::invalid_argument.
Prices price_program(const strategies::Program& program, RankClasses classes, const hw_models::Cluster& cluster,
                     const hw_models::GpuSpec& gpu, const hw_models::SoftwareSpec& software,
                     const strategies::Placement& placement, const strategies::TrainingSpec& training);

/// `singles` folded as far as prices and partners allow: simulating the result equals simulating `singles`.
RankClasses folded_by_price(const strategies::Program& program, const RankClasses& singles,
                            const hw_models::Cluster& cluster, const hw_models::SoftwareSpec& software,
                            const strategies::Placement& placement);

}  // namespace sim
