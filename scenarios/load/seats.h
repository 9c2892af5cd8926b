// A table of seats: which rank sits on which GPU.
//
//   rank,host,device[,nic]
//   0,node-a,0,
//   1,node-a,1,4
//
// One row per rank, in any order; columns in any order. host: the number of a node, or any names, which are then the
// cluster's nodes in the order in which they first appear. device: the GPU inside the host. nic: the NIC inside the
// host that the GPU uses; empty or no such column = the nearest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strategies/placement/placement.h"

namespace scenarios {

/// What there is to sit on.
struct SeatLimits {
  int ranks = 0, hosts = 0, gpus_per_host = 0, nics_per_host = 0;
};

/// By rank. Throws InputError with every defect and its place: text that is no such table, unknown hosts, devices and
/// NICs, ranks without a row, two rows for a rank or a GPU.
std::vector<strategies::Seat> parse_seats(std::string_view text, const std::string& file, const SeatLimits& limits);

}  // namespace scenarios
