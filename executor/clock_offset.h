// The monotonic clocks of several machines count from different moments. What this rank's clock shows beyond that of
// rank 0, from messages there and back:
//
//   own time t0: ask    rank 0's time T: answer    own time t1: the answer is here    =>    t0 - T <= offset <= t1 - T
//
// The bounds of all messages hold together. Where they allow 0 the answer is 0: ranks of one machine share one clock
// and are compared to the nanosecond.
#pragma once

#include <cstdint>
#include <functional>

#include "executor/communicator/communicator.h"

namespace executor {

/// Nanoseconds. All ranks call it at the same time; `now` is this rank's clock. How clocks drift apart later is not
/// seen.
std::int64_t clock_offset_ns(Communicator& communicator, const std::function<std::int64_t()>& now);

}  // namespace executor
