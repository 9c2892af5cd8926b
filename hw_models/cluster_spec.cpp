#include <algorithm>
#include <utility>

#include "hw_models/cluster.h"

namespace hw_models {
namespace {

/// A node of the cluster: its pool, and how many of the pool's nodes come before it.
struct NodePlace {
  std::size_t pool = 0;
  int before = 0;
};

NodePlace place_of(const ClusterSpec& cluster, int index) {
  NodePlace place{0, index};
  while (place.pool + 1 < cluster.pool_count() && place.before >= cluster.nodes_of_pool(place.pool)) {
    place.before -= cluster.nodes_of_pool(place.pool++);
  }
  return place;
}

}  // namespace

const NodeSpec& ClusterSpec::node_at(int index) const { return node_of_pool(place_of(*this, index).pool); }

int ClusterSpec::gpus() const {
  int sum = 0;
  for (std::size_t i = 0; i < pool_count(); ++i) sum += nodes_of_pool(i) * node_of_pool(i).gpus;
  return sum;
}

int ClusterSpec::first_gpu(int node_index) const {
  const NodePlace place = place_of(*this, node_index);
  int before = place.before * node_of_pool(place.pool).gpus;
  for (std::size_t i = 0; i < place.pool; ++i) before += nodes_of_pool(i) * node_of_pool(i).gpus;
  return before;
}

ClusterSpec mixed_cluster(std::vector<NodePool> pools, FabricSpec fabric) {
  ClusterSpec cluster{pools.front().node, 0, std::move(fabric)};
  for (const NodePool& pool : pools) cluster.nodes += pool.nodes;
  cluster.pools = std::move(pools);
  return cluster;
}

std::size_t first_of_kind(const ClusterSpec& cluster, std::size_t pool) {
  const auto found = std::ranges::find(cluster.pools, cluster.pools[pool].gpu, &NodePool::gpu);
  return static_cast<std::size_t>(found - cluster.pools.begin());
}

std::optional<int> gpus_of_every_node(const ClusterSpec& cluster) {
  const auto same = [&](const NodePool& pool) { return pool.node.gpus == cluster.node.gpus; };
  return std::ranges::all_of(cluster.pools, same) ? std::optional(cluster.node.gpus) : std::nullopt;
}

}  // namespace hw_models
