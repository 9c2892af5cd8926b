// Passes that make the narrow operands of a layer's products, and where those lie. All but the head's products: the
// callers ask Shapes::narrows(layer) first.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "strategies/transformer/block_writer.h"
#include "strategies/transformer/layer_parts.h"
#include "strategies/transformer/stage.h"

namespace strategies {

/// narrow = quantised wide, `elements` of this rank; with `copy` for the operand's other product as well.
void write_narrowing(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide, BufferId narrow,
                     std::int64_t elements, bool copy);

/// Forward, first matrix: the norm [rows of this rank, columns] that `write_norm` writes into the buffer it is given,
/// narrowed. `normed` is what is kept, in the format that the stack keeps: returned, or a buffer of the block.
/// `gathered`: the rows will be gathered over the sequence.
BufferId write_narrow_norm(BlockWriter& writer, const Stage& stage, const std::string& label, std::int64_t columns,
                           BufferId normed, const std::function<void(BufferId)>& write_norm, bool gathered);
/// Forward, first matrix: what write_narrow_norm returned, gathered; it is freed unless it is `kept`.
Moved gather_narrow_norm(BlockWriter& writer, const Stage& stage, BufferId local, std::int64_t columns, BufferId kept);
/// Forward, first matrix: a stream that is there, wide, narrowed into `kept` where the stack keeps narrow operands, and
/// gathered.
Moved write_narrow_stream(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide,
                          std::optional<BufferId> kept);
/// `elements` of this rank narrowed into `kept`, with the copy for its other product, or into a buffer of this block.
BufferId write_narrow_rows(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide,
                           std::optional<BufferId> kept, std::int64_t elements);
/// Forward, second matrix: its input `wide` [tokens, columns] narrowed into `kept`, or into a buffer of this block
/// where the stack keeps wide values.
BufferId write_narrow_input(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide,
                            std::optional<BufferId> kept, std::int64_t columns);
/// The weight's narrow values for one product, where the stack keeps none: free them behind it.
std::optional<BufferId> write_narrow_weight(BlockWriter& writer, const Stage& stage, const std::string& label,
                                            const Parameter& weight);

/// Backward, second matrix: the gradient of its output, whole on every rank. `gradient` [tokens_between, hidden] stays.
/// Lives on where `buckets` defers products.
BufferId write_narrow_branch(BlockWriter& writer, const Stage& stage, const GradientBuckets& buckets,
                             const std::string& label, BufferId gradient);
/// Backward, first matrix: the gradient of its output, `elements` of this rank; `wide` is freed.
BufferId write_narrow_gradient(BlockWriter& writer, const Stage& stage, const GradientBuckets& buckets,
                               const std::string& label, BufferId wide, std::int64_t elements);
/// Backward, matrix without a gather: its input as the weight gradient reads it: `kept`, or a buffer of this block.
BufferId write_kept_input(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId kept,
                          std::int64_t elements);
/// Backward, first matrix: its input, gathered again.
Moved gather_kept_input(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId kept,
                        std::int64_t columns);
/// What the weight gradient needs of a gathered operand [tokens, columns] before it can read it.
void write_gathered_transpose(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId gathered,
                              std::int64_t columns);

}  // namespace strategies
