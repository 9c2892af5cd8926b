// The collectives that are priced; kSendReceive: every member sends to the next in a ring of them.
#pragma once

#include <cstdint>

namespace hw_models {

enum class Operation : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendReceive
};

}  // namespace hw_models
