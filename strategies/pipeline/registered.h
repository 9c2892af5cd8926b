// The functions behind the schedule registry; everyone else uses schedule.h.
#pragma once

#include <vector>

#include "strategies/pipeline/schedule.h"

namespace strategies {

std::vector<ComputeAction> gpipe_actions(const ScheduleShape& shape, int stage);
std::vector<ComputeAction> one_f_one_b_actions(const ScheduleShape& shape, int stage);
std::vector<ComputeAction> interleaved_actions(const ScheduleShape& shape, int stage);

/// Virtual stage v lives on stage v mod p: with one chunk, stage v.
std::vector<int> round_robin_stages(const ScheduleShape& shape);

}  // namespace strategies
