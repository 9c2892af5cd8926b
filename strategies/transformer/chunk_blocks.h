// The blocks of one model chunk: forward and backward, with its messages to the neighbouring virtual stages.
#pragma once

#include <cstdint>

#include "strategies/transformer/stage.h"

namespace strategies {

struct Chunk {
  int index = 0;  ///< on its stage
  int virtual_stage = 0;
  int virtual_stages = 1;
  int first_layer = 0;
  int layers = 0;

  bool first() const { return virtual_stage == 0; }
  bool last() const { return virtual_stage == virtual_stages - 1; }
};

/// Index of the block in the role. `samples`: what one microbatch of all replicas together takes from the input.
std::uint32_t write_forward_block(Stage& stage, const Chunk& chunk, std::int64_t samples);

/// `reduce`: gradients are complete with this block and are reduced over the replicas beside it.
std::uint32_t write_backward_block(Stage& stage, const Chunk& chunk, Variant variant, bool reduce);

}  // namespace strategies
