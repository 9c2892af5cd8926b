#include "strategies/transformer/block_writer.h"

#include <algorithm>
#include <utility>

namespace strategies {

BufferId add_buffer(Role& role, std::string name, std::int64_t bytes, Holds holds, Lifetime lifetime,
                    TensorSlice slice) {
  role.buffers.push_back({std::move(name), hw_models::Bytes(bytes), holds, lifetime, std::move(slice)});
  return BufferId{static_cast<std::uint32_t>(role.buffers.size()) - 1};
}

BlockWriter::BlockWriter(Role& role, Block block, bool blocking_launches)
    : role_(role), block_(std::move(block)), blocking_launches_(blocking_launches) {
  for (std::uint32_t i = 0; i < role_.buffers.size(); ++i) {
    if (role_.buffers[i].lifetime == Lifetime::kBlock) temporaries_[role_.buffers[i].name].push_back({i});
  }
}

BlockWriter::Use& BlockWriter::use(BufferId buffer) {
  if (use_.size() < role_.buffers.size()) use_.resize(role_.buffers.size(), Use::kNone);
  return use_[buffer.value];
}

BufferId BlockWriter::temporary(const std::string& name, std::int64_t bytes, Holds holds) {
  std::vector<BufferId>& same_name = temporaries_[name];
  for (const BufferId known : same_name) {
    const Buffer& buffer = role_.buffers[known.value];
    if (buffer.size.value() != bytes || buffer.holds != holds || use(known) != Use::kNone) continue;
    use(known) = Use::kReserved;
    return known;
  }
  same_name.push_back(add_buffer(role_, name, bytes, holds, Lifetime::kBlock));
  use(same_name.back()) = Use::kReserved;
  return same_name.back();
}

void BlockWriter::allocate_unwritten(Operation& operation) {
  for (const BufferId buffer : operation.writes) {
    const bool in_place = std::ranges::find(operation.reads, buffer) != operation.reads.end();
    const bool fixed = role_.buffers[buffer.value].lifetime == Lifetime::kStatic;
    if (fixed || in_place || use(buffer) == Use::kAllocated) continue;
    operation.allocates.push_back(buffer);
    use(buffer) = Use::kAllocated;
  }
}

OperationId BlockWriter::add(Operation operation) {
  operation.origin.layer = layer_;
  operation.origin.phase = phase_;
  allocate_unwritten(operation);
  const bool waits = blocking_launches_ && operation.lane != Lane::kHost;
  block_.operations.push_back(std::move(operation));
  const OperationId added = last();
  if (waits) host(HostReason::kBlockingLaunch, {added});
  return added;
}

OperationId BlockWriter::compute(const hw_models::Kernel& kernel, std::string label, Buffers reads, Buffers writes) {
  Operation operation;
  operation.work = Compute{kernel};
  operation.lane = Lane::kCompute;
  operation.after = std::exchange(pending_, {});
  operation.reads = std::move(reads);
  operation.writes = std::move(writes);
  operation.origin.label = std::move(label);
  last_compute_ = add(std::move(operation));
  return *last_compute_;
}

OperationId BlockWriter::collective(CollectiveKind kind, GroupId group, std::int64_t bytes, hw_models::DType dtype,
                                    Lane lane, std::string label, Buffers reads, Buffers writes,
                                    std::vector<hw_models::Bytes> member_bytes) {
  Operation operation;
  Collective collective;
  collective.kind = kind;
  collective.group = group;
  collective.bytes = hw_models::Bytes(bytes);
  collective.member_bytes = std::move(member_bytes);
  collective.dtype = dtype;
  operation.work = std::move(collective);
  operation.lane = lane;
  if (last_compute_) operation.after.push_back(*last_compute_);
  operation.reads = std::move(reads);
  operation.writes = std::move(writes);
  operation.origin.label = std::move(label);
  return add(std::move(operation));
}

OperationId BlockWriter::send(int virtual_stage, std::int64_t bytes, Payload payload, Lane lane, BufferId buffer) {
  Operation operation;
  operation.work = Send{virtual_stage, hw_models::Bytes(bytes), payload};
  operation.lane = lane;
  operation.after = pending_;
  if (last_compute_) operation.after.push_back(*last_compute_);
  operation.reads = {buffer};
  operation.origin.label = payload == Payload::kActivation ? "send-activation" : "send-gradient";
  return add(std::move(operation));
}

OperationId BlockWriter::receive(int virtual_stage, std::int64_t bytes, Payload payload, Lane lane, BufferId buffer) {
  Operation operation;
  operation.work = Receive{virtual_stage, hw_models::Bytes(bytes), payload};
  operation.lane = lane;
  operation.writes = {buffer};
  operation.origin.label = payload == Payload::kActivation ? "receive-activation" : "receive-gradient";
  const OperationId id = add(std::move(operation));
  wait_for(id);
  return id;
}

OperationId BlockWriter::host(HostReason reason, std::vector<OperationId> after, std::int64_t samples) {
  Operation operation;
  operation.work = Host{reason, samples};
  operation.lane = Lane::kHost;
  operation.after = std::move(after);
  operation.origin.label = name(reason);
  return add(std::move(operation));
}

void BlockWriter::free(BufferId buffer) {
  block_.operations.back().frees.push_back(buffer);
  use(buffer) = Use::kNone;
}

std::uint32_t BlockWriter::finish() {
  for (const BufferId buffer : until_end_) free(buffer);
  role_.blocks.push_back(std::move(block_));
  return static_cast<std::uint32_t>(role_.blocks.size()) - 1;
}

}  // namespace strategies
