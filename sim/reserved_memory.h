// Device memory that the framework's allocator takes for a role: its allocations and frees replayed through a caching
// allocator, cache and fragmentation included.
#pragma once

#include "hw_models/units.h"
#include "strategies/program/program.h"

namespace sim {

/// Two steps, from an empty cache. Microbatches beyond `most_microbatches` alive at once (RoleMemory) repeat the
/// pattern of those before and are left out. `limit`: what the device can hold; exceeded where even an emptied cache is
/// not enough. `defers_frees`: what a tensor collective of a forward block frees stays taken until the next backward
/// block begins; only the last of several forwards in a row finds what the first has left.
hw_models::Bytes reserved_memory(const strategies::Role& role, int most_microbatches, hw_models::Bytes limit,
                                 bool defers_frees);

}  // namespace sim
