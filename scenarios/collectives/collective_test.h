// The tests of nccl-tests: what each measures and how its bandwidths count.
//
//   algorithm bandwidth = bytes / time;   bus bandwidth = algorithm bandwidth x factor(ranks)
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "hw_models/network.h"

namespace scenarios {

struct CollectiveTest {
  std::string_view name;                          ///< "all_reduce", as in all_reduce_perf
  std::optional<hw_models::Operation> operation;  ///< nullopt: send and receive to the neighbour
};

inline constexpr std::array<CollectiveTest, 7> kCollectiveTests{
    {{"all_reduce", hw_models::Operation::kAllReduce},
     {"all_gather", hw_models::Operation::kAllGather},
     {"reduce_scatter", hw_models::Operation::kReduceScatter},
     {"broadcast", hw_models::Operation::kBroadcast},
     {"reduce", hw_models::Operation::kReduce},
     {"alltoall", hw_models::Operation::kAllToAll},
     {"sendrecv", std::nullopt}}};

/// Underscores and hyphens do not matter: "all-to-all" is alltoall. nullptr for anything else.
const CollectiveTest* find_collective_test(std::string_view name);

/// 2 (n - 1) / n all-reduce; (n - 1) / n all-gather, reduce-scatter, all-to-all; 1 the others.
double bus_factor(const CollectiveTest& test, int ranks);

}  // namespace scenarios
