// The kernel sources built in double precision, for finite differences.
#pragma once

#include "executor/cpu/kernels.h"

namespace executor::cpu::float64 {

Kernels<double> make_table();

}  // namespace executor::cpu::float64
