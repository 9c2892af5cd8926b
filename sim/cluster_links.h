// The cluster graph as links of the fluid network: link l is LinkIndex 2 l from its end a to its end b, 2 l + 1 back.
//
//   capacity: scale-up links and PCIe  payload rate (payload_rate.h);  NIC ports and uplinks  bandwidth x fabric
//   efficiency: the rates of a group's layout (network.h), but on links that are shared instead of divided beforehand.
//
// A GPU with k NICs of its own stripes over them (NCCL puts its channels on all). Routes name the first one, which
// stands for a trunk: k times the capacity, as have its PCIe slot and the uplink of a leaf that is its rail's alone.
#pragma once

#include <cstdint>
#include <vector>

#include "hw_models/cluster.h"
#include "hw_models/units.h"
#include "sim/max_min_fairness.h"

namespace sim {

/// Capacities by LinkIndex.
std::vector<hw_models::BytesPerSecond> cluster_links(const hw_models::Cluster& cluster);

/// The way of a message: every link once, in order, and the sum of their latencies.
struct LinkPath {
  std::vector<LinkUse> uses;
  std::int64_t latency_ns = 0;
};

LinkPath path_between(const hw_models::Cluster& cluster, int from_gpu, int to_gpu);
/// From `gpu` to the switch of its scale-up domain, in which `mate` is another GPU. Throws std::invalid_argument if
/// they are not joined by one.
LinkPath path_to_switch(const hw_models::Cluster& cluster, int gpu, int mate);
/// From `gpu` into the fabric, its leaf, on the way to `far_gpu`. Throws std::invalid_argument if no NIC lies on it.
LinkPath path_to_fabric(const hw_models::Cluster& cluster, int gpu, int far_gpu);
LinkPath reversed(const LinkPath& path);

}  // namespace sim
