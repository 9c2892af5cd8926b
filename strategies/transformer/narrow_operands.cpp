#include "strategies/transformer/narrow_operands.h"

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

std::int64_t rows(const Stage& stage) { return stage.shapes.tokens_between * stage.shapes.hidden; }
std::int64_t whole(const Stage& stage) { return stage.shapes.tokens * stage.shapes.hidden; }

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
Moved gather(BlockWriter& writer, const Stage& stage, BufferId local, int copies, std::optional<BufferId> into = {}) {
  const NarrowFormat& narrow = stage.shapes.narrow;
  return gather_sequence(writer, stage, local, narrow.bytes(whole(stage)) * copies, narrow.dtype, "narrow-gathered",
                         into);
}

void write_transpose(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId narrow,
                     std::int64_t elements) {
  const std::int64_t bytes = stage.shapes.narrow.bytes(elements);
  writer.compute(Elementwise{ElementwiseKind::kCopy, elements, bytes, bytes, writer.phase() == Phase::kBackward},
                 label + "-transpose", {narrow}, {narrow});
}

/// Of a residual stream that is kept wide.
Moved narrow_and_gather(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide) {
  const BufferId local = operand(writer, stage, "narrow-normed", rows(stage), false);
  write_narrowing(writer, stage, label, wide, local, rows(stage), false);
  const Moved gathered = gather(writer, stage, local, 1);
  if (gathered.buffer != local) writer.free(local);
  return gathered;
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

Moved write_narrow_norm(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId normed,
                        const std::function<void(BufferId)>& write_norm) {
  const NarrowFormat& narrow = stage.shapes.narrow;
  const bool copy = copies_before_gather(stage);
  if (!narrow.keeps) {
    write_norm(normed);
    return narrow_and_gather(writer, stage, label, normed);
  }
  if (narrow.fused_norm) {
    write_norm(normed);
    if (copy) write_transpose(writer, stage, label, normed, rows(stage));
  } else {
    const BufferId wide = writer.temporary("wide-normed", stage.shapes.stream_bytes());
    write_norm(wide);
    write_narrowing(writer, stage, label, wide, normed, rows(stage), copy);
    writer.free(wide);
  }
  return gather(writer, stage, normed, 1);
}

Moved write_narrow_stream(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId wide,
                          std::optional<BufferId> kept) {
  if (!kept) return narrow_and_gather(writer, stage, label, wide);
  write_narrowing(writer, stage, label, wide, *kept, rows(stage), copies_before_gather(stage));
  return gather(writer, stage, *kept, 1);
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
  const BufferId whole_gradient = gradient_operand(writer, buckets, label + "-narrow-branch",
                                                   narrow.bytes(gathers ? whole(stage) : rows(stage)) * copies);
  const BufferId local = gathers ? operand(writer, stage, "narrow-branch", rows(stage), copy) : whole_gradient;
  write_narrowing(writer, stage, label, gradient, local, rows(stage), copy);
  if (!gathers) return local;
  gather(writer, stage, local, copies, whole_gradient).await(writer);
  writer.free(local);
  write_gathered_transpose(writer, stage, label, whole_gradient);
  return whole_gradient;
}

BufferId write_narrow_gradient(BlockWriter& writer, const Stage& stage, const GradientBuckets& buckets,
                               const std::string& label, BufferId wide, std::int64_t columns) {
  return write_narrow_gradient_rows(writer, stage, buckets, label, wide, stage.shapes.tokens * columns);
}

BufferId write_narrow_gradient_rows(BlockWriter& writer, const Stage& stage, const GradientBuckets& buckets,
                                    const std::string& label, BufferId wide, std::int64_t elements) {
  const bool copy = stage.shapes.narrow.copies();
  const BufferId narrow = gradient_operand(writer, buckets, label + "-narrow-gradient",
                                           stage.shapes.narrow.bytes(elements) * (copy ? 2 : 1));
  write_narrowing(writer, stage, label, wide, narrow, elements, copy);
  writer.free(wide);
  return narrow;
}

BufferId write_kept_rows(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId kept,
                         std::int64_t elements) {
  if (stage.shapes.narrow.keeps) return kept;
  return write_narrow_rows(writer, stage, label + "-again", kept, std::nullopt, elements);
}

Moved gather_kept_input(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId kept) {
  return stage.shapes.narrow.keeps ? gather(writer, stage, kept, 1)
                                   : narrow_and_gather(writer, stage, label + "-again", kept);
}

void write_gathered_transpose(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId gathered) {
  if (stage.gathers_sequence() && stage.shapes.narrow.transposes) {
    write_transpose(writer, stage, label, gathered, whole(stage));
  }
}

}  // namespace strategies
