// into[i] = reduction(into[i], from[i]) on numbers given as bytes of any alignment.
#pragma once

#include <cstddef>

#include "executor/communicator/communicator.h"

namespace executor {

/// `bytes` is a multiple of the element's size.
void reduce_bytes(Element element, Reduction reduction, std::byte* into, const std::byte* from, std::size_t bytes);

}  // namespace executor
