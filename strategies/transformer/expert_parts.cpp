#include "strategies/transformer/expert_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace strategies {
namespace {

using hw_models::Elementwise;
using hw_models::ElementwiseKind;

bool exchanges(const Stage& stage) { return stage.plan.expert > 1; }
bool gathers(const Stage& stage) { return stage.plan.tensor_of_experts() > 1; }
/// What comes from several ranks is in order of rank first.
bool sorts(const Stage& stage) { return stage.shapes.expert.local > 1 && moves_rows(stage); }

std::int64_t bytes_of(const Stage& stage, std::int64_t rows) {
  return rows * stage.shapes.hidden * stage.shapes.activation_bytes;
}

/// The same both ways: the busiest rank gets what it sends back.
void write_exchange(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId from, BufferId to) {
  const ExpertShapes& s = stage.shapes.expert;
  std::vector<hw_models::Bytes> members;
  for (const std::int64_t received : s.received_by) {
    members.emplace_back(bytes_of(stage, std::max(s.routed, received)));
  }
  writer.wait_for(writer.collective(CollectiveKind::kAllToAll, stage.groups.expert, bytes_of(stage, s.routed),
                                    stage.shapes.activation, Lane::kExpert, label, {from}, {to}, std::move(members)));
}

void write_tensor_exchange(BlockWriter& writer, const Stage& stage, CollectiveKind kind, const std::string& label,
                           BufferId from, BufferId to) {
  writer.wait_for(writer.collective(kind, stage.groups.expert_tensor, bytes_of(stage, stage.shapes.expert.rows),
                                    stage.shapes.activation, Lane::kExpert, label, {from}, {to}));
}

void write_sorting(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId from, BufferId to) {
  const std::int64_t rows = stage.shapes.expert.rows, bytes = bytes_of(stage, rows);
  writer.compute(Elementwise{ElementwiseKind::kCopy, rows * stage.shapes.hidden, bytes, bytes, false}, label, {from},
                 {to});
}

}  // namespace

bool moves_rows(const Stage& stage) { return exchanges(stage) || gathers(stage); }

void write_to_experts(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId routed,
                      BufferId into) {
  const ExpertShapes& s = stage.shapes.expert;
  const auto step = [&](bool last, const char* name, std::int64_t rows) {
    return last ? into : writer.temporary(name, bytes_of(stage, rows));
  };
  BufferId current = routed;
  if (exchanges(stage)) {
    const BufferId received = step(!gathers(stage) && !sorts(stage), "received", s.received);
    write_exchange(writer, stage, label, current, received);
    writer.free(std::exchange(current, received));
  }
  if (gathers(stage)) {
    const BufferId gathered = step(!sorts(stage), "gathered-rows", s.rows);
    write_tensor_exchange(writer, stage, CollectiveKind::kAllGather, label + "-gather", current, gathered);
    writer.free(std::exchange(current, gathered));
  }
  if (!sorts(stage)) return;
  write_sorting(writer, stage, label + "-sort", current, into);
  writer.free(current);
}

BufferId write_from_experts(BlockWriter& writer, const Stage& stage, const std::string& label, BufferId rows) {
  const ExpertShapes& s = stage.shapes.expert;
  BufferId current = rows;
  if (sorts(stage)) {
    const BufferId unsorted = writer.temporary("unsorted", bytes_of(stage, s.rows));
    write_sorting(writer, stage, label + "-sort", current, unsorted);
    writer.free(std::exchange(current, unsorted));
  }
  if (gathers(stage)) {
    const BufferId scattered = writer.temporary("scattered-rows", bytes_of(stage, s.received));
    write_tensor_exchange(writer, stage, CollectiveKind::kReduceScatter, label + "-scatter", current, scattered);
    writer.free(std::exchange(current, scattered));
  }
  if (exchanges(stage)) {
    const BufferId returned = writer.temporary("returned", bytes_of(stage, s.routed));
    write_exchange(writer, stage, label, current, returned);
    writer.free(std::exchange(current, returned));
  }
  return current;
}

void write_weighting(BlockWriter& writer, const Stage& stage, const char* label, bool routed_written,
                     BlockWriter::Buffers reads, BufferId output) {
  const std::int64_t routed = bytes_of(stage, stage.shapes.expert.routed), tokens = stage.shapes.stream_bytes();
  const std::int64_t written = routed_written ? routed : tokens, read = routed_written ? tokens : routed;
  writer.compute(
      Elementwise{ElementwiseKind::kScale, written / stage.shapes.activation_bytes, read, written, routed_written},
      label, std::move(reads), {output});
}

MlpSize expert_size(const Shapes& shapes) { return {shapes.expert.rows, shapes.expert.ffn, shapes.expert.up}; }
MlpSize shared_size(const Shapes& shapes) { return {shapes.tokens, shapes.expert.shared_ffn, shapes.expert.shared_up}; }

}  // namespace strategies
