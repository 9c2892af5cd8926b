// Writes the operations of one block in program order and keeps the dependences between compute and communication.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "strategies/program/program.h"

namespace strategies {

/// Compute operations follow each other on the compute lane. A collective waits for the last compute operation; what
/// consumes its result says so with `wait_for`, and the next compute operation carries the dependence.
class BlockWriter {
 public:
  using Buffers = std::vector<BufferId>;

  /// `blocking_launches`: a host operation behind every other one makes the host wait for it.
  BlockWriter(Role& role, Block block, bool blocking_launches = false);

  /// Layer and phase of the operations that follow.
  void at(int layer, Phase phase) { layer_ = layer, phase_ = phase; }
  int layer() const { return layer_; }
  Phase phase() const { return phase_; }

  /// A buffer that lives within this block, allocated by the first operation that writes it. One that was freed is
  /// taken again when name and size agree.
  BufferId temporary(const std::string& name, std::int64_t bytes, Holds holds = Holds::kWorkspace);

  OperationId compute(const hw_models::Kernel& kernel, std::string label, Buffers reads, Buffers writes);
  OperationId collective(CollectiveKind kind, GroupId group, std::int64_t bytes, hw_models::DType dtype, Lane lane,
                         std::string label, Buffers reads, Buffers writes,
                         std::vector<hw_models::Bytes> member_bytes = {});
  OperationId send(int virtual_stage, std::int64_t bytes, Payload payload, Lane lane, BufferId buffer);
  OperationId receive(int virtual_stage, std::int64_t bytes, Payload payload, Lane lane, BufferId buffer);
  /// A host operation; waits for `after`.
  OperationId host(HostReason reason, std::vector<OperationId> after, std::int64_t samples = 0);

  /// The next compute operation waits for `operation`.
  void wait_for(OperationId operation) { pending_.push_back(operation); }
  /// `operation` also waits for the earlier operation `on`.
  void add_dependence(OperationId operation, OperationId on) { block_.operations[operation.value].after.push_back(on); }
  /// `buffer` is freed by the last operation written.
  void free(BufferId buffer);
  /// `buffer` is freed by the last operation of the block.
  void free_at_end(BufferId buffer) { until_end_.push_back(buffer); }
  /// The last operation written on the compute lane, if any.
  std::optional<OperationId> last_compute() const { return last_compute_; }
  OperationId last() const { return OperationId{static_cast<std::uint32_t>(block_.operations.size()) - 1}; }

  Role& role() { return role_; }
  /// Adds the block to the role and returns its index.
  std::uint32_t finish();

 private:
  OperationId add(Operation operation);
  void allocate_unwritten(Operation& operation);

  Role& role_;
  Block block_;
  bool blocking_launches_;
  std::vector<OperationId> pending_;
  std::optional<OperationId> last_compute_;
  enum class Use : std::uint8_t { kNone, kReserved, kAllocated };
  Use& use(BufferId buffer);

  std::vector<Use> use_;                                                   ///< by buffer, in this block
  std::map<std::string, std::vector<BufferId>, std::less<>> temporaries_;  ///< of the role, by name
  Buffers until_end_;
  int layer_ = -1;
  Phase phase_ = Phase::kOther;
};

/// Appends a buffer to the role.
BufferId add_buffer(Role& role, std::string name, std::int64_t bytes, Holds holds, Lifetime lifetime,
                    TensorSlice slice = {});

}  // namespace strategies
