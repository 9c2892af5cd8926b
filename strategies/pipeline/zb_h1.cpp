#include <algorithm>

#include "strategies/pipeline/registered.h"

namespace strategies {

// 1F1B whose stage i runs the weight gradients i microbatches behind: the first i backwards, which other stages wait
// for, pass earlier, and the weight gradients left over fill the drain. Stage i keeps at most p - i microbatches
// whole and the operands of i more.
std::vector<ComputeAction> zb_h1_actions(const ScheduleShape& shape, int stage) {
  const int warm_up = std::min(shape.stages - 1 - stage, shape.microbatches);
  std::vector<ComputeAction> actions;
  int forward = 0;
  int weight = 0;
  while (forward < warm_up) actions.push_back({BlockKind::kForward, 0, forward++});
  for (int backward = 0; backward < shape.microbatches; ++backward) {
    if (forward < shape.microbatches) actions.push_back({BlockKind::kForward, 0, forward++});
    actions.push_back({BlockKind::kBackwardInput, 0, backward});
    if (backward - weight >= stage) actions.push_back({BlockKind::kBackwardWeight, 0, weight++});
  }
  while (weight < shape.microbatches) actions.push_back({BlockKind::kBackwardWeight, 0, weight++});
  return actions;
}

}  // namespace strategies
