// Small Programs written by hand, one for everything the types must be able to hold. Checked by the strategies tests,
// simulated by the sim tests.
#pragma once

#include <span>

#include "strategies/program/program.h"

namespace tests {

/// One rank, two microbatches, loss read and gradient norm by the host.
strategies::Program single_rank();

/// dp = 2: gradients are all-reduced in two buckets that overlap the backward; the update waits for both.
strategies::Program data_parallel();

/// `stages` stages, `microbatches` microbatches, 1F1B. From two stages on, the first and the last one all-reduce the
/// gradients of a tied embedding over a group with listed coordinates.
strategies::Program pipeline(int stages, int microbatches);

/// Two stages, four microbatches, backward split into input gradients (B) and weight gradients (W). Activations and
/// received gradients outlive B and die in W.
strategies::Program split_backward();

/// dp = 2, two chunks on one stage. The forward of chunk 0 gathers the parameters of chunk 1 for the next action; the
/// update gathers those of chunk 0 for the next step.
strategies::Program gathered_parameters();

/// 8 ranks seen as tp 2 x dp 4 and as etp 1 x ep 4 x edp 2; uneven all-to-all before and after the experts.
strategies::Program expert_parallel();

/// cp = 4: keys and values travel in two pieces behind the attention, their gradients are reduce-scattered.
strategies::Program context_parallel();

/// dp 2 x pp 2: the first replica runs four microbatches in 1F1B order, the second two, all forwards first.
strategies::Program unequal_replicas();

struct HandmadeProgram {
  const char* name;
  strategies::Program (*make)();
};

/// All of the above (pipelines of two and four stages).
std::span<const HandmadeProgram> handmade_programs();

}  // namespace tests
