// Plans forwards, input gradients and weight gradients of a pipeline with one chunk per stage from the passes' costs.
#pragma once

#include "strategies/pipeline/schedule.h"

namespace strategies {

/// A stage keeps at most what `microbatches_kept` forwards keep. In planned time, whenever a stage is free,
///
///   before its first backward: forwards as long as one ends before that backward can start
///   then: a forward and a backward in turns; the other one where its turn has not come and it has
///   a weight gradient, the oldest: where neither can start; where memory lacks for a forward that could
///   at the end: the weight gradients that are left
///
/// once with weight gradients in every gap and once only in gaps that they do not outlast. Of these two orders and
/// ZB-H1 the one whose longest stage is shortest is taken: a function of shape and costs alone.
Orders automatic_orders(const ScheduleShape& shape, int microbatches_kept);

}  // namespace strategies
