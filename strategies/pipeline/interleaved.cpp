#include <algorithm>

#include "strategies/pipeline/registered.h"

namespace strategies {
namespace {

// The k-th virtual microbatch of a stage: microbatches advance in groups of p; a group visits all chunks before the
// next one starts. Backward visits the chunks from the last to the first.
ComputeAction virtual_microbatch(const ScheduleShape& shape, BlockKind kind, int k) {
  const int per_group = shape.stages * shape.chunks;
  const int place = k % per_group;
  const int chunk = place / shape.stages;
  const int microbatch = k / per_group * shape.stages + place % shape.stages;
  return {kind, kind == BlockKind::kForward ? chunk : shape.chunks - 1 - chunk, microbatch};
}

}  // namespace

// Warm-up of stage i: 2 (p - 1 - i) + (v - 1) p virtual microbatches, then one forward, one backward.
std::vector<ComputeAction> interleaved_actions(const ScheduleShape& shape, int stage) {
  const int total = shape.microbatches * shape.chunks;
  const int warm_up = std::min(total, 2 * (shape.stages - 1 - stage) + (shape.chunks - 1) * shape.stages);
  std::vector<ComputeAction> actions;
  int forward = 0;
  int backward = 0;
  while (forward < warm_up) actions.push_back(virtual_microbatch(shape, BlockKind::kForward, forward++));
  while (forward < total) {
    actions.push_back(virtual_microbatch(shape, BlockKind::kForward, forward++));
    actions.push_back(virtual_microbatch(shape, BlockKind::kBackward, backward++));
  }
  while (backward < total) actions.push_back(virtual_microbatch(shape, BlockKind::kBackward, backward++));
  return actions;
}

}  // namespace strategies
