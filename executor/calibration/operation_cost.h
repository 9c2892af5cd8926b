// What an operation costs around its kernel: the interpreter decides, operands are looked up, clocks are read.
#pragma once

#include "strategies/program/program.h"

namespace executor {

/// Seconds per operation: of steps of `program`, the part in which no operation runs. The Program has one rank, and
/// the smaller its kernels the less it takes. The median over the steps.
double operation_seconds(const strategies::Program& program, std::int64_t sequence_length);

}  // namespace executor
