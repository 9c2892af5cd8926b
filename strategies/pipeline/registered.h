// The functions behind the schedule registry; everyone else uses schedule.h.
#pragma once

#include <vector>

#include "strategies/pipeline/schedule.h"

namespace strategies {

std::vector<ComputeAction> gpipe_actions(const ScheduleShape& shape, int stage);
std::vector<ComputeAction> one_f_one_b_actions(const ScheduleShape& shape, int stage);
std::vector<ComputeAction> interleaved_actions(const ScheduleShape& shape, int stage);
std::vector<ComputeAction> zb_h1_actions(const ScheduleShape& shape, int stage);
std::vector<ComputeAction> zb_v_actions(const ScheduleShape& shape, int stage);
std::vector<ComputeAction> dualpipe_v_actions(const ScheduleShape& shape, int stage);

/// Every stage by itself.
template <std::vector<ComputeAction> (*actions)(const ScheduleShape&, int)>
Orders each_stage(const ScheduleShape& shape) {
  Orders orders;
  for (int stage = 0; stage < shape.stages; ++stage) orders.push_back(actions(shape, stage));
  return orders;
}

Orders zb_1p_orders(const ScheduleShape& shape);
Orders zb_2p_orders(const ScheduleShape& shape);

/// Virtual stage v lives on stage v mod p: with one chunk, stage v.
std::vector<int> round_robin_stages(const ScheduleShape& shape);
/// Two chunks: down from the first stage to the last and back up.
std::vector<int> v_stages(const ScheduleShape& shape);

}  // namespace strategies
