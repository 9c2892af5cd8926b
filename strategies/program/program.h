// The Program: what every rank computes, sends, receives, reduces, allocates, frees and checkpoints in one training
// step, and what waits for what. It is priced by the simulator and run by the executor, unchanged.
//
//   Program = views of the ranks, groups, roles
//   Role    = buffers + blocks + schedule      ranks that do the same share one role
//   Block   = operations of one model chunk    called by the schedule's actions, once per microbatch
//   Operation = work on a lane                 in order within its lane, concurrent between lanes
//
// What may start when (the RankInterpreter's rule, interpreter.h):
//   1. The host issues operations in program order (action by action, operation by operation).
//   2. An operation starts when it has been issued, its predecessor on its lane has completed, and every operation it
//      names (`after` in its block, CrossDependence between actions) has completed.
//   3. Among operations ready on one engine the lowest program order wins.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "hw_models/kernel.h"
#include "hw_models/units.h"
#include "strategies/program/mesh.h"

namespace strategies {

/// Index of an operation within its block, of a buffer within its role, of a group within the program.
struct OperationId {
  std::uint32_t value = 0;
  auto operator<=>(const OperationId&) const = default;
};
struct BufferId {
  std::uint32_t value = 0;
  auto operator<=>(const BufferId&) const = default;
};
struct GroupId {
  std::uint32_t value = 0;
  auto operator<=>(const GroupId&) const = default;
};

// ---- Lanes ------------------------------------------------------------------------------------------------------

enum class Lane : std::uint8_t {
  kHost,
  kCompute,
  kTensor,
  kData,
  kGather,
  kSendNext,
  kSendPrevious,
  kReceiveNext,
  kReceivePrevious,
  kContext,
  kExpert,
  kStorage
};
inline constexpr int kLanes = 12;
/// Lower-case name as printed in the text form: "host", "compute", "tensor", "data", "gather", "send-next", ...
const char* name(Lane lane);

// ---- Memory -----------------------------------------------------------------------------------------------------

enum class Holds : std::uint8_t { kWeights, kGradients, kOptimizerState, kActivations, kWorkspace };
const char* name(Holds holds);

enum class Lifetime : std::uint8_t {
  kStatic,      ///< survives the step; never allocated or freed by an operation
  kMicrobatch,  ///< one instance per microbatch of its chunk; may outlive the block that allocates it
  kBlock        ///< lives within one block instance
};

/// A slice of a named tensor in global coordinates: what checkpoints and resharding speak of.
struct TensorSlice {
  std::string parameter;            ///< "layers.3.attention.qkv.weight"; empty = not a parameter
  std::vector<std::int64_t> shape;  ///< global shape
  int sharded_axis = -1;            ///< axis split over the tensor ranks, -1 = whole
  /// What the sharded axis consists of where that is more than one thing (queries, keys and values; gate and value):
  /// every part is split by itself, and a rank holds its shares of them one after the other. Empty = one part.
  std::vector<std::int64_t> parts;
  std::int64_t begin = 0,
               end = 0;  ///< tensor-parallel rank 0 holds [begin, end) on that axis (of one part), others as much
  /// Of experts: axis 0 holds them and is split over so many ranks; the sharded axis, if any, over the expert tensor
  /// ranks. 0 = not of experts.
  int expert_ranks = 0;
  int pieces = 1;  ///< ZeRO: this much of it is cut into equal pieces, the last one padded, and a replica holds one
  bool operator==(const TensorSlice&) const = default;
};

struct Buffer {
  std::string name;
  hw_models::Bytes size;  ///< on one rank, shard padding included
  Holds holds = Holds::kActivations;
  Lifetime lifetime = Lifetime::kMicrobatch;
  TensorSlice slice;

  /// Of a parameter; not a packed or scattered copy of several.
  bool is_parameter_gradient() const { return holds == Holds::kGradients && !slice.parameter.empty(); }
  bool operator==(const Buffer&) const = default;
};

// ---- Work -------------------------------------------------------------------------------------------------------

struct Compute {
  hw_models::Kernel kernel;
  bool operator==(const Compute&) const = default;
};

/// Shifts move one buffer along the ring of the group's members: from each to its next (the last's is the first), or to
/// its previous.
enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,
  kShiftNext,
  kShiftPrevious
};
const char* name(CollectiveKind kind);

/// `bytes` follows nccl-tests: the whole buffer (all-reduce: what every rank holds; all-gather: the gathered result;
/// reduce-scatter: the full input; all-to-all, shift: what one rank sends in total).
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  GroupId group;
  hw_models::Bytes bytes;
  /// Per member where they differ (uneven all-to-all), the more of what it sends and what it gets; else empty.
  std::vector<hw_models::Bytes> member_bytes;
  hw_models::DType dtype = hw_models::DType::kBf16;
  std::string algorithm = "auto";
  bool operator==(const Collective&) const = default;
};

enum class Payload : std::uint8_t { kActivation, kGradient };

/// To the rank with the same coordinates on the stage that hosts virtual stage `virtual_stage`. Buffered: a send
/// does not wait for its receive; the receive completes when the bytes have arrived.
/// A message is identified by (step, microbatch, from, to, payload).
struct Send {
  int virtual_stage = 0;  ///< destination
  hw_models::Bytes bytes;
  Payload payload = Payload::kActivation;
  bool operator==(const Send&) const = default;
};
struct Receive {
  int virtual_stage = 0;  ///< origin
  hw_models::Bytes bytes;
  Payload payload = Payload::kActivation;
  bool operator==(const Receive&) const = default;
};

enum class HostReason : std::uint8_t {
  kLossRead,
  kGradientNorm,
  kBlockingSend,
  kStepOverhead,
  kInput,
  kBlockingReceive,
  kBlockingLaunch,
  kTokenCounts
};
const char* name(HostReason reason);

/// Work of the host itself, on the host lane. kLossRead, kGradientNorm, kBlockingSend, kBlockingReceive,
/// kBlockingLaunch, kTokenCounts (how many tokens go to which expert): the host waits for the named operations before
/// it issues anything else. kStepOverhead: host time of
/// the stack. kInput: waits for `samples` more samples from the input pipeline.
struct Host {
  HostReason reason = HostReason::kLossRead;
  std::int64_t samples = 0;
  bool operator==(const Host&) const = default;
};

/// Writes `bytes` of this rank's state to storage.
struct Checkpoint {
  hw_models::Bytes bytes;
  bool operator==(const Checkpoint&) const = default;
};

using Work = std::variant<Compute, Collective, Send, Receive, Host, Checkpoint>;

// ---- Operations, blocks, schedule -------------------------------------------------------------------------------

enum class Phase : std::uint8_t { kForward, kRecompute, kBackward, kWeightGradient, kReduce, kUpdate, kGather, kOther };
const char* name(Phase phase);

struct Origin {
  int layer = -1;  ///< global layer index; -1 = none
  Phase phase = Phase::kOther;
  std::string label;  ///< "qkv", "attention", "mlp-up", ...
  bool operator==(const Origin&) const = default;
};

/// `allocates` happen when the operation is issued, `frees` right after it is issued (stream-ordered allocator).
struct Operation {
  Work work;
  Lane lane = Lane::kCompute;
  std::vector<OperationId> after;       ///< earlier operations of the same block
  std::vector<BufferId> reads, writes;  ///< operands in the kernel's order (docs/models.md, "Operands")
  std::vector<BufferId> allocates, frees;
  Origin origin;
  bool operator==(const Operation&) const = default;
};

enum class BlockKind : std::uint8_t { kForward, kBackward, kBackwardInput, kBackwardWeight, kUpdate, kOther };
const char* name(BlockKind kind);  ///< "F", "BW", "B", "W", "U", "X"
enum class Variant : std::uint8_t { kOnly, kFirst, kMiddle, kLast };
const char* name(Variant variant);

/// The operation list of one model chunk. `chunk` is the index on this stage; `virtual_stage` its place in the model.
struct Block {
  BlockKind kind = BlockKind::kForward;
  Variant variant = Variant::kOnly;
  int chunk = 0;
  int virtual_stage = 0;
  bool graph = false;  ///< issued with one launch (CUDA graph)
  std::vector<Operation> operations;
  bool operator==(const Block&) const = default;
};

/// `dependent` of this action waits for `operation` of action `action`, `steps_back` steps earlier (0 = this step,
/// then `action` comes earlier in the schedule; 1 = the step before).
struct CrossDependence {
  int steps_back = 0;
  std::uint32_t action = 0;
  OperationId operation;
  OperationId dependent;
  bool operator==(const CrossDependence&) const = default;
};

/// One call of a block. microbatch -1 = none (update).
struct Action {
  std::uint32_t block = 0;
  int microbatch = -1;
  std::vector<CrossDependence> after;
  bool operator==(const Action&) const = default;
};

struct Role {
  std::string name;  ///< "stage 0"
  int stage = 0;
  std::vector<Buffer> buffers;
  std::vector<Block> blocks;
  std::vector<Action> schedule;  ///< one training step: from update k to update k + 1
  bool operator==(const Role&) const = default;

  std::size_t operations() const;  ///< of a step
};

struct Program {
  std::string implementation;  ///< name of the software stack whose operations these are
  std::vector<Mesh> views;     ///< the first is the dense view and has a "pp" dimension when there are stages
  std::vector<Group> groups;
  std::vector<int> stage_of_virtual;  ///< pipeline coordinate of every virtual stage
  std::vector<Role> roles;
  std::vector<std::uint32_t> role_of_rank;
  std::int64_t samples_per_step = 0;  ///< global batch, sequences
  std::int64_t tokens_per_step = 0;
  /// Context rank r of c holds pieces r and 2c-1-r of 2c of every sequence; else piece r of c.
  bool balanced_context = false;
  bool operator==(const Program&) const = default;

  int ranks() const { return static_cast<int>(role_of_rank.size()); }
  const Role& role_of(Rank rank) const { return roles[role_of_rank[static_cast<std::size_t>(rank.value)]]; }
  /// The rank that exchanges messages with `rank` on behalf of virtual stage `virtual_stage`.
  Rank peer(Rank rank, int virtual_stage) const;
  /// Lowest rank of every role; -1 for a role without ranks. One pass over the ranks.
  std::vector<Rank> representatives() const;
};

}  // namespace strategies
