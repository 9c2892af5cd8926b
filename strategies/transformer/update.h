// The end of a step: remaining reductions, gradient norm, optimizer, parameter gathers, host synchronisations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// Gather of updated parameters under ZeRO >= 1: the weights of one bucket, ready when `operation` has run.
struct ParameterGather {
  OperationId operation;
  int chunk = 0;
  std::vector<BufferId> weights;
};

struct UpdateBlock {
  std::uint32_t block = 0;
  std::vector<OperationId> after_backward;  ///< operations that wait for the last backward's compute
  OperationId first_compute;                ///< waits for all reductions that ran beside the backward
  std::vector<ParameterGather> gathers;
};

/// Post-validation: the global norm of the step before comes from the last stage, the update is compared with it. To be
/// called before the first backward. nullopt where nothing is validated afterwards. `virtual_stage`: the first chunk's.
std::optional<std::uint32_t> write_validation(const Stage& stage, int virtual_stage);

/// `reduced`: the gradients were reduced beside the last backward. `virtual_stage`: the first chunk's.
UpdateBlock write_update(const Stage& stage, int virtual_stage, bool reduced);

}  // namespace strategies
