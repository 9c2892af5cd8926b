// The blocks of one model chunk: forward and backward, with its messages to the neighbouring virtual stages.
#pragma once

#include <cstdint>

#include "strategies/transformer/deferred_gradients.h"
#include "strategies/transformer/stage.h"

namespace strategies {

struct Chunk {
  int index = 0;  ///< on its stage
  int virtual_stage = 0;
  int virtual_stages = 1;
  int first_layer = 0;
  int layers = 0;
  bool previous_here = false, next_here = false;  ///< the neighbouring virtual stage is on the same stage

  bool first() const { return virtual_stage == 0; }
  bool last() const { return virtual_stage == virtual_stages - 1; }
};

/// Index of the block in the role. `samples`: what one microbatch of all replicas together takes from the input.
/// Under ZeRO 3, weights that stay whole beyond the block are gathered in it, but not in the middle variant.
std::uint32_t write_forward_block(Stage& stage, const Chunk& chunk, Variant variant, std::int64_t samples);

/// Input gradients alone; what is left to do for the weight gradients is appended to `later`.
std::uint32_t write_input_block(Stage& stage, const Chunk& chunk, DeferredGradients& later);

/// The weight gradients that the input block has left. `reduce`: as below.
std::uint32_t write_weight_block(Stage& stage, const Chunk& chunk, const DeferredGradients& gradients, Variant variant,
                                 bool reduce);

/// `reduce`: gradients are complete with this block and are reduced over the replicas beside it.
std::uint32_t write_backward_block(Stage& stage, const Chunk& chunk, Variant variant, bool reduce);

}  // namespace strategies
