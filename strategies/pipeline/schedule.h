// Pipeline schedules: the order of compute actions on every stage. Communication is added by passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/program/program.h"

namespace strategies {

/// What one microbatch costs on a virtual stage, in any unit of time and of memory: all that a schedule may know of the
/// times that its Program will take (pass_costs.h).
struct PassCosts {
  std::int64_t forward = 1;
  std::int64_t backward = 1;         ///< input gradients alone
  std::int64_t weight = 1;           ///< weight gradients
  std::int64_t send = 0;             ///< to the next or previous virtual stage
  std::int64_t kept = 1;             ///< memory from the forward to the input gradients
  std::int64_t kept_for_weight = 1;  ///< from there to the weight gradients
  bool operator==(const PassCosts&) const = default;
};

struct ScheduleShape {
  int stages = 1;
  int chunks = 1;                  ///< per stage
  int microbatches = 1;            ///< per replica and step
  std::vector<PassCosts> costs{};  ///< by virtual stage; empty = the defaults everywhere

  const PassCosts& cost(int virtual_stage) const;
};

struct ComputeAction {
  BlockKind kind = BlockKind::kForward;
  int chunk = 0;
  int microbatch = 0;
  bool operator==(const ComputeAction&) const = default;
};

/// The actions of every stage.
using Orders = std::vector<std::vector<ComputeAction>>;

struct Schedule {
  std::string_view name, summary, source;
  int minimum_chunks, maximum_chunks;
  bool microbatches_multiple_of_stages;
  /// Every (chunk, microbatch) appears once forward and once backward: BW, or B and later W. On every stage the W of
  /// a microbatch on a later chunk comes before its W on an earlier one.
  Orders (*orders)(const ScheduleShape& shape);
  /// Pipeline stage of each virtual stage 0 ... stages * chunks - 1.
  std::vector<int> (*stage_of_virtual)(const ScheduleShape& shape);
  bool splits_backward = false;  ///< has B and W
  int fewest_microbatches = 0;   ///< per stage

  std::vector<ComputeAction> actions(const ScheduleShape& shape, int stage) const {
    return orders(shape)[static_cast<std::size_t>(stage)];
  }
};

std::span<const Schedule> schedules();
const Schedule* find_schedule(std::string_view name);

}  // namespace strategies
