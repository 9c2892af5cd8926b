#include "strategies/pipeline/registered.h"

namespace strategies {

// 1F1B whose stage i runs the weight gradients i microbatches behind: the first i backwards, which other stages wait
// for, pass earlier, and the weight gradients left over fill the drain. Stage i keeps at most p - i microbatches
// whole and the operands of i more.
std::vector<ComputeAction> zb_h1_actions(const ScheduleShape& shape, int stage) {
  std::vector<ComputeAction> actions;
  int weight = 0;
  for (const ComputeAction& action : one_f_one_b_actions(shape, stage)) {
    actions.push_back(action);
    if (action.kind == BlockKind::kForward) continue;
    actions.back().kind = BlockKind::kBackwardInput;
    if (action.microbatch - weight >= stage) actions.push_back({BlockKind::kBackwardWeight, 0, weight++});
  }
  while (weight < shape.microbatches) actions.push_back({BlockKind::kBackwardWeight, 0, weight++});
  return actions;
}

}  // namespace strategies
