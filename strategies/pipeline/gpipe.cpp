#include "strategies/pipeline/registered.h"

namespace strategies {

std::vector<ComputeAction> gpipe_actions(const ScheduleShape& shape, int /*stage*/) {
  std::vector<ComputeAction> actions;
  for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
    actions.push_back({BlockKind::kForward, 0, microbatch});
  }
  for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
    actions.push_back({BlockKind::kBackward, 0, microbatch});
  }
  return actions;
}

}  // namespace strategies
