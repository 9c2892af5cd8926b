#include "strategies/transformer/narrow_operands.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

std::int64_t rows(const Stage& stage, std::int64_t columns) { return stage.shapes.tokens_between * columns; }
std::int64_t rows(const Stage& stage) { return rows(stage, stage.shapes.hidden); }
std::int64_t whole(const Stage& stage, std::int64_t columns) { return stage.shapes.tokens * columns; }

/// A copy that is the same values transposed is made behind the gather: a transposed shard is no shard of the
/// transposed.
bool copies_before_gather(const Stage& stage) {
  const NarrowFormat& narrow = stage.shapes.narrow;
  return stage.gathers_sequence() ? narrow.two_directions : narrow.copies();
}

BufferId operand(BlockWriter& writer, const Stage& stage, const char* name, std::int64_t elements, bool copy) {
  return writer.temporary(name, stage.shapes.narrow.bytes(elements) * (copy ? 2 : 1));
}

/// `copies`: of each element, on the wire. `into`, or a buffer of the block.
Moved gather(BlockWriter& writer, const Stage& stage, BufferId local, std::int64_t columns, int copies,
             std::optional<BufferId> into = {}) {
  const NarrowFormat& narrow = stage.shapes.narrow;
  return gather_sequence(writer, stage, local, narrow.bytes(whole(stage, columns)) * copies, narrow.dtype,
                         "narrow-gathered", into);
}

void write_transpose(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId narrow,
                     std::int64_t elements) {
  const std::int64_t bytes = stage.shapes.narrow.bytes(elements);
  writer.compute(Elementwise{ElementwiseKind::kCopy, elements, bytes, bytes, writer.phase() == Phase::kBackward},
                 label + "-transpose", {narrow}, {narrow});
}

/// Of a norm that is kept wide.
BufferId narrow_rows(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide,
                     std::int64_t columns) {
  const BufferId local = operand(writer, stage, "narrow-normed", rows(stage, columns), false);
  write_narrowing(writer, stage, label, wide, local, rows(stage, columns), false);
  return local;
}

}  // namespace

void write_narrowing(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide, BufferId narrow,
                     std::int64_t elements, bool copy) {
  const NarrowFormat& format = stage.shapes.narrow;
  const std::int64_t read = elements * stage.shapes.activation_bytes * (format.reads_twice ? 2 : 1);
  writer.compute(Elementwise{ElementwiseKind::kCast, elements, read, format.bytes(elements) * (copy ? 2 : 1),
                             writer.phase() == Phase::kBackward},
                 label + "-narrow", {wide}, {narrow});
}

BufferId write_narrow_norm(BlockWriter& writer, const Stage& stage, const std::string& label, std::int64_t columns,
                           BufferId normed, const std::function<void(BufferId)>& write_norm, bool gathered) {
  const NarrowFormat& narrow = stage.shapes.narrow;
  const std::int64_t elements = rows(stage, columns);
  const bool copy = gathered ? copies_before_gather(stage) : narrow.copies();
  if (!narrow.keeps) {
    write_norm(normed);
    return narrow_rows(writer, stage, label, normed, columns);
  }
  if (narrow.fused_norm) {
    write_norm(normed);
    if (copy) write_transpose(writer, stage, label, normed, elements);
  } else {
    const BufferId wide = writer.temporary("wide-normed", elements * stage.shapes.activation_bytes);
    write_norm(wide);
    write_narrowing(writer, stage, label, wide, normed, elements, copy);
    writer.free(wide);
  }
  return normed;
}

Moved gather_narrow_norm(BlockWriter& writer, const Stage& stage, BufferId local, std::int64_t columns, BufferId kept) {
  const Moved gathered = gather(writer, stage, local, columns, 1);
  if (gathered.buffer != local && local != kept) writer.free(local);
  return gathered;
}

Moved write_narrow_stream(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide,
                          std::optional<BufferId> kept) {
  const std::int64_t hidden = stage.shapes.hidden;
  if (!kept) return gather_narrow_norm(writer, stage, narrow_rows(writer, stage, label, wide, hidden), hidden, wide);
  write_narrowing(writer, stage, label, wide, *kept, rows(stage, hidden), copies_before_gather(stage));
  return gather(writer, stage, *kept, hidden, 1);
}

BufferId write_narrow_input(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide,
                            std::optional<BufferId> kept, std::int64_t columns) {
  return write_narrow_rows(writer, stage, label, wide, kept, stage.shapes.tokens * columns);
}

BufferId write_narrow_rows(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide,
                           std::optional<BufferId> kept, std::int64_t elements) {
  const BufferId narrow = kept ? *kept : operand(writer, stage, "narrow-input", elements, false);
  write_narrowing(writer, stage, label, wide, narrow, elements, kept && stage.shapes.narrow.copies());
  return narrow;
}

std::optional<BufferId> write_narrow_weight(BlockWriter& writer, const Stage& stage, const std::string& label,
                                            const Parameter& weight) {
  const bool each_use = stage.shapes.narrow.use.weights == NarrowWeights::kEachUse;
  if (!weight.narrow || !each_use || stage.parameters.narrow_alone(weight)) return std::nullopt;
  const BufferId narrow = operand(writer, stage, "narrow-weight", weight.elements, false);
  write_narrowing(writer, stage, label + "-weight", weight.weight, narrow, weight.elements, false);
  return narrow;
}

BufferId write_narrow_branch(BlockWriter& writer, const Stage& stage, const GradientBuckets& buckets,
                             const std::string& label, BufferId gradient) {
  const bool copy = copies_before_gather(stage), gathers = stage.gathers_sequence();
  const int copies = copy ? 2 : 1;
  const NarrowFormat& narrow = stage.shapes.narrow;
  const BufferId whole_gradient =
      gradient_operand(writer, buckets, label + "-narrow-branch",
                       narrow.bytes(gathers ? whole(stage, stage.shapes.hidden) : rows(stage)) * copies);
  const BufferId local = gathers ? operand(writer, stage, "narrow-branch", rows(stage), copy) : whole_gradient;
  write_narrowing(writer, stage, label, gradient, local, rows(stage), copy);
  if (!gathers) return local;
  gather(writer, stage, local, stage.shapes.hidden, copies, whole_gradient).await(writer);
  writer.free(local);
  write_gathered_transpose(writer, stage, label, whole_gradient, stage.shapes.hidden);
  return whole_gradient;
}

BufferId write_narrow_gradient(BlockWriter& writer, const Stage& stage, const GradientBuckets& buckets,
                               const std::string& label, BufferId wide, std::int64_t elements) {
  const bool copy = stage.shapes.narrow.copies();
  const BufferId narrow = gradient_operand(writer, buckets, label + "-narrow-gradient",
                                           stage.shapes.narrow.bytes(elements) * (copy ? 2 : 1));
  write_narrowing(writer, stage, label, wide, narrow, elements, copy);
  writer.free(wide);
  return narrow;
}

BufferId write_kept_input(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId kept,
                          std::int64_t elements) {
  if (stage.shapes.narrow.keeps) return kept;
  const BufferId narrow = operand(writer, stage, "narrow-input", elements, false);
  write_narrowing(writer, stage, label + "-again", kept, narrow, elements, false);
  return narrow;
}

Moved gather_kept_input(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId kept,
                        std::int64_t columns) {
  if (stage.shapes.narrow.keeps) return gather(writer, stage, kept, columns, 1);
  const BufferId local = narrow_rows(writer, stage, label + "-again", kept, columns);
  return gather_narrow_norm(writer, stage, local, columns, kept);
}

void write_gathered_transpose(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId gathered,
                              std::int64_t columns) {
  if (stage.gathers_sequence() && stage.shapes.narrow.transposes) {
    write_transpose(writer, stage, label, gathered, whole(stage, columns));
  }
}

}  // namespace strategies
