// Identity of a Program: equal programs, equal fingerprints on every machine.
#pragma once

#include <string>

#include "strategies/program/program.h"

namespace strategies {

/// 128-bit hash of everything in the Program, 32 lower-case hexadecimal digits.
std::string fingerprint(const Program& program);

}  // namespace strategies
