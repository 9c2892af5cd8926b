#include <algorithm>
#include <array>

#include "strategies/pipeline/registered.h"

namespace strategies {
namespace {

constexpr int kAnyChunks = 1'000;

const std::array<Schedule, 3> kSchedules{{
    {.name = "1f1b",
     .summary = "one forward, one backward: stage i keeps at most p - i microbatches",
     .source = "Narayanan et al., PipeDream-Flush (arXiv:2006.09503) and SC'21 (arXiv:2104.04473)",
     .minimum_chunks = 1,
     .maximum_chunks = 1,
     .microbatches_multiple_of_stages = false,
     .actions = one_f_one_b_actions,
     .stage_of_virtual = round_robin_stages},
    {.name = "gpipe",
     .summary = "all forwards, then all backwards: keeps every microbatch",
     .source = "Huang et al., GPipe (arXiv:1811.06965)",
     .minimum_chunks = 1,
     .maximum_chunks = 1,
     .microbatches_multiple_of_stages = false,
     .actions = gpipe_actions,
     .stage_of_virtual = round_robin_stages},
    {.name = "interleaved",
     .summary = "1F1B over several model chunks per stage: bubble divided by the chunks",
     .source = "Narayanan et al., SC'21 (arXiv:2104.04473), section 2.2.2",
     .minimum_chunks = 2,
     .maximum_chunks = kAnyChunks,
     .microbatches_multiple_of_stages = true,
     .actions = interleaved_actions,
     .stage_of_virtual = round_robin_stages},
}};

}  // namespace

std::vector<int> round_robin_stages(const ScheduleShape& shape) {
  std::vector<int> stages(static_cast<std::size_t>(shape.stages * shape.chunks));
  for (std::size_t v = 0; v < stages.size(); ++v) stages[v] = static_cast<int>(v) % shape.stages;
  return stages;
}

std::span<const Schedule> schedules() { return kSchedules; }

const Schedule* find_schedule(std::string_view name) {
  const auto found = std::ranges::find(kSchedules, name, &Schedule::name);
  return found == kSchedules.end() ? nullptr : &*found;
}

}  // namespace strategies
