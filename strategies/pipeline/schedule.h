// Pipeline schedules: the order of compute actions on every stage. Communication is added by passes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/program/program.h"

namespace strategies {

struct ScheduleShape {
  int stages = 1;
  int chunks = 1;        ///< per stage
  int microbatches = 1;  ///< per replica and step
};

struct ComputeAction {
  BlockKind kind = BlockKind::kForward;
  int chunk = 0;
  int microbatch = 0;
  bool operator==(const ComputeAction&) const = default;
};

struct Schedule {
  std::string_view name, summary, source;
  int minimum_chunks, maximum_chunks;
  bool microbatches_multiple_of_stages;
  /// Actions of one stage. Every (chunk, microbatch) appears once forward and once backward.
  std::vector<ComputeAction> (*actions)(const ScheduleShape& shape, int stage);
  /// Pipeline stage of each virtual stage 0 ... stages * chunks - 1.
  std::vector<int> (*stage_of_virtual)(const ScheduleShape& shape);
};

std::span<const Schedule> schedules();
const Schedule* find_schedule(std::string_view name);

}  // namespace strategies
