#include <algorithm>

#include "strategies/pipeline/registered.h"

namespace strategies {

// Stage i runs p - 1 - i warm-up forwards, then alternates, then drains: at most p - i microbatches are alive on it.
std::vector<ComputeAction> one_f_one_b_actions(const ScheduleShape& shape, int stage) {
  const int warm_up = std::min(shape.stages - 1 - stage, shape.microbatches);
  std::vector<ComputeAction> actions;
  int forward = 0;
  int backward = 0;
  while (forward < warm_up) actions.push_back({BlockKind::kForward, 0, forward++});
  while (forward < shape.microbatches) {
    actions.push_back({BlockKind::kForward, 0, forward++});
    actions.push_back({BlockKind::kBackward, 0, backward++});
  }
  while (backward < shape.microbatches) actions.push_back({BlockKind::kBackward, 0, backward++});
  return actions;
}

}  // namespace strategies
