// The network between a cluster's nodes for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "hw_models/cluster.h"

namespace scenarios {

/// Switches and cables of each tier, and what crossing it costs.
std::string fabric_text(const hw_models::ClusterSpec& cluster);
/// {"fabric","kind","nodes","planes","routing","hash_seed","tiers":[{"switches","of","downlinks","uplinks",
/// "uplink_GBps","switches_crossed","share"}]}; counts are per plane; "hash_seed" null = balanced.
nlohmann::ordered_json fabric_json(const hw_models::ClusterSpec& cluster);

}  // namespace scenarios
