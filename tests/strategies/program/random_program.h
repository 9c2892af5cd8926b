// Random Programs: every alternative, enumerator and field of the types, whether or not it makes sense.
#pragma once

#include <cstdint>

#include "strategies/program/program.h"

namespace tests {

strategies::Program random_program(std::uint64_t seed);

}  // namespace tests
