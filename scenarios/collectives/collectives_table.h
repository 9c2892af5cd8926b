// What a machine's collectives take, size by size, in the columns of nccl-tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/collectives/machine.h"

namespace scenarios {

struct CollectiveRow {
  std::int64_t bytes = 0;
  double time_us = 0, algbw = 0, busbw = 0;  ///< GB/s
  hw_models::NcclEstimate estimate;
  std::string bottleneck;
};

struct CollectivesTable {
  const CollectiveTest* test = nullptr;
  int ranks = 0, nodes = 0;
  std::string counted_nodes, node, fabric;
  std::vector<CollectiveRow> rows;
};

/// Sizes from `smallest`, doubling, up to `largest`.
CollectivesTable collectives_table(const Machine& machine, const hw_models::ClusterSpec& cluster,
                                   const CollectiveTest& test, std::int64_t smallest, std::int64_t largest);

std::string collectives_table_text(const CollectivesTable& collectives);
std::string collectives_table_json(const CollectivesTable& collectives);

}  // namespace scenarios
