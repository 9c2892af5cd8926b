// FLOPs of all matmuls of a job in one step.
#pragma once

#include "strategies/program/program.h"

namespace tests {

double matmul_flops(const strategies::Program& program);

}  // namespace tests
