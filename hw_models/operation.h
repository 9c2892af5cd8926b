// The collectives that are priced.
#pragma once

#include <cstdint>

namespace hw_models {

enum class Operation : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce, kAllToAll };

}  // namespace hw_models
