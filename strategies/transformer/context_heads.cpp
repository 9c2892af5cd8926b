// Tokens for heads (DeepSpeed-Ulysses, arXiv:2309.14509; Megatron-Core: cp_comm_type a2a): an all-to-all leaves every
// context rank with all tokens of its share of the heads, one kernel runs on them, and another all-to-all brings the
// output back. Blocks for one peer lie together on the wire only: each exchange is packed before and put in order
// behind.
#include <string>
#include <utility>

#include "strategies/transformer/context_attention.h"
#include "strategies/transformer/context_tiles.h"

namespace strategies {
namespace {

/// `from` -> `to`, `columns` of every token or head. `in_place`: `to` holds what `from` did.
void exchange(BlockWriter& writer, const Stage& stage, const std::string& label, std::int64_t columns, BufferId from,
              BufferId to, bool in_place = false) {
  const std::int64_t bytes = stage.shapes.tokens * columns * stage.shapes.activation_bytes;
  const BufferId packed = writer.temporary("packed-exchange", bytes);
  write_reordering(writer, stage, label + "-pack", bytes, {from}, packed);
  const BufferId arrived = writer.temporary("arrived-exchange", bytes);
  writer.wait_for(write_context_exchange(writer, stage, CollectiveKind::kAllToAll, bytes, label, packed, arrived));
  writer.free(packed);
  BlockWriter::Buffers reads{arrived};
  if (in_place) reads.push_back(to);
  write_reordering(writer, stage, label + "-order", bytes, std::move(reads), to);
  writer.free(arrived);
}

}  // namespace

void write_head_attention(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers, AttentionPass pass) {
  const Shapes& s = stage.shapes;
  const BufferId packed =
      pass.keeps ? buffers.qkv : writer.temporary("exchanged-packed", s.tokens * s.qkv * s.activation_bytes);
  exchange(writer, stage, "exchange-heads", s.qkv, buffers.qkv, packed, pass.keeps);
  writer.compute(head_tile(stage, false, stage.window(writer.layer())), "attention-heads", {packed},
                 {*buffers.exchanged_context, buffers.softmax});
  if (!pass.keeps) writer.free(packed);
  const BufferId output = pass.output_there
                              ? writer.temporary("recomputed-context", s.tokens * s.attended * s.activation_bytes)
                              : buffers.context;
  exchange(writer, stage, "exchange-output", s.attended, *buffers.exchanged_context, output);
  if (pass.output_there) writer.free(output);
  if (!pass.keeps) writer.free(*buffers.exchanged_context);
}

void write_head_attention_backward(BlockWriter& writer, const Stage& stage, const LayerBuffers& buffers,
                                   BufferId output_gradient, BufferId packed_gradient) {
  const Shapes& s = stage.shapes;
  const BufferId output = writer.temporary("exchanged-gradient", s.tokens * s.attended * s.activation_bytes);
  exchange(writer, stage, "exchange-output-gradient", s.attended, output_gradient, output);
  const BufferId packed = writer.temporary("exchanged-packed", s.tokens * s.qkv * s.activation_bytes);
  writer.compute(head_tile(stage, true, stage.window(writer.layer())), "attention-heads-backward",
                 {buffers.qkv, *buffers.exchanged_context, buffers.softmax, output}, {packed});
  for (const BufferId buffer : {*buffers.exchanged_context, output}) writer.free(buffer);
  exchange(writer, stage, "exchange-gradient", s.qkv, packed, packed_gradient);
  writer.free(packed);
}

}  // namespace strategies
