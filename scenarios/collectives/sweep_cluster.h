// The cluster that a measured collective ran on, from its GPU and the words about its network.
#pragma once

#include <string>
#include <variant>

#include "hw_models/cluster.h"
#include "scenarios/catalog.h"
#include "scenarios/collectives/sweep.h"

namespace scenarios {

struct SweepCluster {
  hw_models::ClusterSpec cluster;
  bool usual_network = false;  ///< several nodes and nothing said about what joins them: the node's usual one
};

/// Or the reason, in a few words, why this version cannot predict the row.
std::variant<SweepCluster, std::string> cluster_of(const MeasuredCollective& row, const Catalog& catalog);

}  // namespace scenarios
