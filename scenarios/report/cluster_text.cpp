#include "scenarios/report/cluster_text.h"

namespace scenarios {

std::string nodes_text(const hw_models::ClusterSpec& cluster) {
  return nodes_text(cluster, [](std::size_t) { return std::string(); });
}

std::string node_names(const hw_models::ClusterSpec& cluster) {
  std::string text = cluster.node_of_pool(0).name;
  for (std::size_t pool = 1; pool < cluster.pool_count(); ++pool) text += " + " + cluster.node_of_pool(pool).name;
  return text;
}

}  // namespace scenarios
