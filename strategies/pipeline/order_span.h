// When the actions of a schedule run, by the planned costs of the passes: every stage works off its own list, an
// action starts when what it receives has arrived.
#pragma once

#include <cstdint>
#include <optional>

#include "strategies/pipeline/schedule.h"

namespace strategies {

struct OrderSpan {
  std::int64_t all = 0;      ///< first start to last end
  std::int64_t longest = 0;  ///< of any one stage from its first start to its own last end: what a step takes that
                             ///< no barrier separates from the next
};

/// nullopt where the lists wait for each other. `stage_of_virtual` as the schedule places chunks.
std::optional<OrderSpan> order_span(const ScheduleShape& shape, const Orders& orders,
                                    const std::vector<int>& stage_of_virtual);

}  // namespace strategies
