// What forward and backward of a layer of experts share.
#pragma once

#include <optional>
#include <string>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/layer_parts.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// Rows leave this rank, or come back in another order than that of their experts.
bool moves_rows(const Stage& stage);

/// Rows in order of routing [routed, hidden] -> rows of this rank's experts, by expert, in `into`. Frees `routed`.
/// Precondition: moves_rows.
void write_to_experts(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId routed,
                      BufferId into);
/// The way back. Returns [routed, hidden], `rows` itself where nothing moves; else frees it.
BufferId write_from_experts(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId rows);

/// A pass between a rank's rows in order of routing and its tokens: every token's rows scaled by its scores.
/// `routed_written`: which side is written.
void write_weighting(BlockWriter& writer, const Stage& stage, const char* label, bool routed_written,
                     BlockWriter::Buffers reads, BufferId output);

MlpSize expert_size(const Shapes& shapes);
MlpSize shared_size(const Shapes& shapes);

}  // namespace strategies
