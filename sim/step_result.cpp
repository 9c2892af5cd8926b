#include "sim/step_result.h"

#include <cstddef>

namespace sim {

const char* name(TimeKind kind) {
  constexpr std::array<const char*, kTimeKinds> kNames{
      "compute",      "recompute",        "optimizer",       "host",           "exposed_tensor",
      "exposed_data", "exposed_pipeline", "exposed_context", "exposed_expert", "bubble",
      "imbalance",    "straggler",        "data_stall",      "other"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "?";
}

}  // namespace sim
