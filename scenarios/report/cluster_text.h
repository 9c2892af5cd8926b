// How reports name the nodes of a cluster.
#pragma once

#include <string>

#include "hw_models/cluster.h"

namespace scenarios {

/// "8 x dgx-h100", "4 x dgx-a100 + 4 x dgx-h100".
std::string nodes_text(const hw_models::ClusterSpec& cluster);
/// "dgx-h100", "dgx-a100 + dgx-h100"
std::string node_names(const hw_models::ClusterSpec& cluster);
/// The nodes with what `detail` says of each kind: "8 x dgx-h100 (64 h100-sxm-80gb)".
template <class Detail>
std::string nodes_text(const hw_models::ClusterSpec& cluster, const Detail& detail) {
  std::string text;
  for (std::size_t pool = 0; pool < cluster.pool_count(); ++pool) {
    text += (pool > 0 ? " + " : "") + std::to_string(cluster.nodes_of_pool(pool)) + " x " +
            cluster.node_of_pool(pool).name + detail(pool);
  }
  return text;
}

}  // namespace scenarios
