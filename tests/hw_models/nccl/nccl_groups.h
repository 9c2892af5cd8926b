// Groups written out by hand, for the tests of the collective library's model.
#pragma once

#include "hw_models/nccl/group.h"

namespace hw_models::examples {

/// 8 H100: 360 GB/s between them, hops of 0.6 us; `domains` of them, 400 GB/s and 2.7 us between. No correction.
inline GroupLayout hopper_layout(int domains, int per_domain = 8) {
  GroupLayout layout;
  layout.ranks = domains * per_domain;
  layout.domains = layout.nodes = domains;
  layout.ranks_per_domain = per_domain;
  layout.intra = BytesPerSecond(360e9);
  layout.intra_latency = Seconds(0.6e-6);
  if (domains > 1) {
    layout.inter = BytesPerSecond(50e9 * per_domain);
    layout.inter_per_rank = BytesPerSecond(50e9);
    layout.inter_latency = Seconds(2.7e-6);
  }
  return layout;
}

inline NcclSystem hopper_system() {
  NcclSystem system;
  system.generation = NcclGeneration::kHopper;
  system.nvls = true;
  system.node = {Seconds(6.6e-6), 1, 1, Seconds(0)};
  system.fabric = {Seconds(0), 1, Seconds(0)};
  return system;
}

}  // namespace hw_models::examples
