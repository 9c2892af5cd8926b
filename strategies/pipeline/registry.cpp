#include <algorithm>
#include <array>

#include "strategies/pipeline/registered.h"

namespace strategies {
namespace {

constexpr int kAnyChunks = 1'000;

const std::array<Schedule, 8> kSchedules{{
    {.name = "1f1b",
     .summary = "one forward, one backward: stage i keeps at most p - i microbatches",
     .source = "Narayanan et al., PipeDream-Flush (arXiv:2006.09503) and SC'21 (arXiv:2104.04473)",
     .minimum_chunks = 1,
     .maximum_chunks = 1,
     .microbatches_multiple_of_stages = false,
     .orders = each_stage<one_f_one_b_actions>,
     .stage_of_virtual = round_robin_stages},
    {.name = "gpipe",
     .summary = "all forwards, then all backwards: keeps every microbatch",
     .source = "Huang et al., GPipe (arXiv:1811.06965)",
     .minimum_chunks = 1,
     .maximum_chunks = 1,
     .microbatches_multiple_of_stages = false,
     .orders = each_stage<gpipe_actions>,
     .stage_of_virtual = round_robin_stages},
    {.name = "interleaved",
     .summary = "1F1B over several model chunks per stage: bubble divided by the chunks",
     .source = "Narayanan et al., SC'21 (arXiv:2104.04473), section 2.2.2",
     .minimum_chunks = 2,
     .maximum_chunks = kAnyChunks,
     .microbatches_multiple_of_stages = true,
     .orders = each_stage<interleaved_actions>,
     .stage_of_virtual = round_robin_stages},
    {.name = "zb-h1",
     .summary = "1F1B with weight gradients apart, which fill the drain: memory of 1F1B",
     .source = "Qi et al., Zero Bubble Pipeline Parallelism (arXiv:2401.10241), section 2.2",
     .minimum_chunks = 1,
     .maximum_chunks = 1,
     .microbatches_multiple_of_stages = false,
     .orders = each_stage<zb_h1_actions>,
     .stage_of_virtual = round_robin_stages,
     .splits_backward = true},
    {.name = "zb-1p",
     .summary = "zero bubble, planned from the passes' times within the memory of p microbatches (as 1F1B)",
     .source = "Qi et al., Zero Bubble Pipeline Parallelism (arXiv:2401.10241), section 3; own list scheduler",
     .minimum_chunks = 1,
     .maximum_chunks = 1,
     .microbatches_multiple_of_stages = false,
     .orders = zb_1p_orders,
     .stage_of_virtual = round_robin_stages,
     .splits_backward = true},
    {.name = "zb-2p",
     .summary = "zero bubble, planned from the passes' times within the memory of 2 p microbatches",
     .source = "Qi et al., Zero Bubble Pipeline Parallelism (arXiv:2401.10241), section 3; own list scheduler",
     .minimum_chunks = 1,
     .maximum_chunks = 1,
     .microbatches_multiple_of_stages = false,
     .orders = zb_2p_orders,
     .stage_of_virtual = round_robin_stages,
     .splits_backward = true},
    {.name = "zb-v",
     .summary = "zero bubble on two chunks per stage, down and back up: memory of 1F1B",
     .source = "Qi et al., Pipeline Parallelism with Controllable Memory (arXiv:2405.15362), ZB-V; order as PyTorch's "
               "ScheduleZBVZeroBubble",
     .minimum_chunks = 2,
     .maximum_chunks = 2,
     .microbatches_multiple_of_stages = false,
     .orders = each_stage<zb_v_actions>,
     .stage_of_virtual = v_stages,
     .splits_backward = true},
    {.name = "dualpipe-v",
     .summary = "microbatches run in both directions over two chunks per stage, down and back up",
     .source = "DeepSeek-V3 (arXiv:2412.19437), section 3.2.1, without its second copy of the weights: DualPipeV of "
               "github.com/deepseek-ai/DualPipe",
     .minimum_chunks = 2,
     .maximum_chunks = 2,
     .microbatches_multiple_of_stages = false,
     .orders = each_stage<dualpipe_v_actions>,
     .stage_of_virtual = v_stages,
     .splits_backward = true,
     .fewest_microbatches = 2},
}};

}  // namespace

std::vector<int> round_robin_stages(const ScheduleShape& shape) {
  std::vector<int> stages(static_cast<std::size_t>(shape.stages * shape.chunks));
  for (std::size_t v = 0; v < stages.size(); ++v) stages[v] = static_cast<int>(v) % shape.stages;
  return stages;
}

std::vector<int> v_stages(const ScheduleShape& shape) {
  std::vector<int> stages;
  for (int stage = 0; stage < shape.stages; ++stage) stages.push_back(stage);
  for (int stage = shape.stages; stage-- > 0;) stages.push_back(stage);
  return stages;
}

const PassCosts& ScheduleShape::cost(int virtual_stage) const {
  static constexpr PassCosts kAlike{};
  return costs.empty() ? kAlike : costs[static_cast<std::size_t>(virtual_stage)];
}

std::span<const Schedule> schedules() { return kSchedules; }

const Schedule* find_schedule(std::string_view name) {
  const auto found = std::ranges::find(kSchedules, name, &Schedule::name);
  return found == kSchedules.end() ? nullptr : &*found;
}

}  // namespace strategies
