#include "executor/cpu/run_rank.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "executor/arena.h"
#include "executor/communicator/frame.h"
#include "executor/cpu/bindings.h"
#include "executor/cpu/collective_bindings.h"
#include "executor/cpu/rank_state.h"
#include "executor/live_buffers.h"
#include "executor/parameter_slice.h"
#include "strategies/program/interpreter.h"

namespace executor::cpu {
namespace {

using strategies::Buffer;
using strategies::BufferId;
using strategies::Collective;
using strategies::Compute;
using strategies::Holds;
using strategies::Host;
using strategies::HostReason;
using strategies::Operation;
using strategies::OperationInstance;
using strategies::Receive;
using strategies::Send;

/// What survives the step of a parameter: its piece, where there is one, else the whole.
std::vector<BufferId> held_weights(const strategies::Role& role) {
  std::map<std::string_view, bool> cut;
  const auto is_weight = [](const Buffer& buffer) {
    return buffer.holds == Holds::kWeights && buffer.lifetime == strategies::Lifetime::kStatic;
  };
  for (const Buffer& buffer : role.buffers) {
    if (is_weight(buffer)) cut[buffer.slice.parameter] |= buffer.slice.pieces > 1;
  }
  std::vector<BufferId> held;
  for (std::uint32_t i = 0; i < role.buffers.size(); ++i) {
    const Buffer& buffer = role.buffers[i];
    if (is_weight(buffer) && cut[buffer.slice.parameter] == (buffer.slice.pieces > 1)) held.push_back({i});
  }
  return held;
}

/// FNV-1a over the words of the bits, every word mixed.
std::uint64_t hashed(std::uint64_t hash, std::span<const float> values) {
  constexpr std::uint64_t kPrime = 0x100000001b3ULL;
  for (const float value : values) hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * kPrime;
  return hash;
}
constexpr std::uint64_t kHashBasis = 0xcbf29ce484222325ULL;

/// What this process has used of processors.
std::int64_t processor_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

/// What the tag of a collective is made of: members of different roles number their operations differently.
std::uint64_t tag_of(const Operation& operation, int step) {
  return hash_of(std::as_bytes(std::span(operation.origin.label))) ^ (static_cast<std::uint64_t>(step) << 32) ^
         static_cast<std::uint32_t>(operation.origin.layer);
}

/// The interpreter's backend: operations are bound to memory when they are issued and run one at a time.
class RankRun final : public strategies::Backend {
 public:
  RankRun(const strategies::Program& program, strategies::Rank rank, const RunSettings& settings, const Corpus& corpus,
          Communicator& communicator, RunObserver& observer, const RunChoice& choice)
      : observer_(observer),
        choice_(choice),
        state_(program, rank, settings, corpus, communicator),
        buffers_(state_.role, arena_),
        interpreter_(program, state_.place.role, settings.steps, *this, kLaneEngines) {
    set_initial_weights();
  }

  void run() {
    const std::int64_t processor_before = processor_ns();
    interpreter_.begin();
    while (started_) {
      const OperationInstance instance = *std::exchange(started_, std::nullopt);
      const std::int64_t begin = now_ns();
      execute(instance);
      if (choice_.records) {
        observer_.record({state_.place.rank, instance, begin - choice_.start_ns, now_ns() - choice_.start_ns});
      }
      issued_.erase(instance);
      progress();
      interpreter_.completed(instance);
    }
    if (!interpreter_.finished()) throw std::logic_error("the Program cannot go on: nothing is ready");
    for (const PendingSend& send : sends_) state_.communicator.wait(send.request);
    sends_.clear();
    finish(processor_ns() - processor_before);
  }

  void issue(const OperationInstance& instance) override {
    bind(instance);
    interpreter_.issued(instance);
  }

  void start(const OperationInstance& instance) override {
    if (!issued_.contains(instance)) bind(instance);  // a host operation is not issued
    started_ = instance;
  }

 private:
  struct PendingSend {
    Request request;
    LiveBuffers::Operands operands;
  };

  const strategies::Action& action_of(const OperationInstance& instance) const {
    return state_.role.schedule[instance.action];
  }
  const strategies::Block& block_of(const OperationInstance& instance) const {
    return state_.role.blocks[action_of(instance).block];
  }

  void bind(const OperationInstance& instance) {
    const strategies::Block& block = block_of(instance);
    const Operation& operation = block.operations[instance.operation.value];
    issued_.emplace(instance, buffers_.issue(operation, action_of(instance).microbatch));
    if (instance.operation.value + 1 == block.operations.size()) buffers_.end_block();
  }

  void execute(const OperationInstance& instance) {
    const Operation& operation = block_of(instance).operations[instance.operation.value];
    LiveBuffers::Operands& operands = issued_.at(instance);
    buffers_.start(operands);
    reads_.clear();
    writes_.clear();
    for (const auto& handle : operands.reads) reads_.push_back(handle->floats());
    for (const auto& handle : operands.writes) writes_.push_back(handle->floats());
    const Call call{state_, operation, reads_, writes_, instance.step, action_of(instance).microbatch};
    if (std::holds_alternative<Compute>(operation.work)) {
      find_binding(operation)->run(call);
    } else if (std::holds_alternative<Collective>(operation.work)) {
      run_collective(call);
    } else if (const auto* send = std::get_if<Send>(&operation.work)) {
      sends_.push_back({post_send(*send, instance), std::move(operands)});
    } else if (const auto* receive = std::get_if<Receive>(&operation.work)) {
      await_message(*receive, instance);
    } else if (const auto* host = std::get_if<Host>(&operation.work)) {
      if (host->reason == HostReason::kStepOverhead) end_step(instance.step);
    }
  }

  void run_collective(const Call& call) {
    const CollectiveBinding& binding = *find_collective_binding(call.operation);
    const auto& collective = std::get<Collective>(call.operation.work);
    const std::span<std::byte> data = binding.before(call);
    const std::span<std::byte> received = binding.received == nullptr ? std::span<std::byte>() : binding.received(call);
    if (collective.kind == CollectiveKind::kShiftNext || collective.kind == CollectiveKind::kShiftPrevious) {
      shift(call, data, received);
    } else if (const auto& group = state_.groups[collective.group.value]) {
      state_.communicator.wait(state_.communicator.post({.kind = collective.kind,
                                                         .group = *group,
                                                         .data = data,
                                                         .element = binding.element,
                                                         .reduction = binding.reduction,
                                                         .received = received,
                                                         .tag = tag_of(call.operation, call.step)}));
    }
    binding.after(call, data);
  }

  /// Every member of the group sends to one neighbour and receives from the other.
  void shift(const Call& call, std::span<const std::byte> sent, std::span<std::byte> received) {
    const Collective& collective = std::get<Collective>(call.operation.work);
    const strategies::Group& group = state_.program.groups[collective.group.value];
    const auto members = group.members(state_.program.views[static_cast<std::size_t>(group.view)], state_.place.rank);
    const Member member = member_of(call);
    const std::size_t next = (member.own + 1) % member.count, previous = (member.own + member.count - 1) % member.count;
    const bool onwards = collective.kind == CollectiveKind::kShiftNext;
    const std::uint64_t tag = tag_of(call.operation, call.step);
    const Request leaves = state_.communicator.send(members[onwards ? next : previous].value, tag, sent);
    state_.communicator.wait(state_.communicator.receive(members[onwards ? previous : next].value, tag, received));
    state_.communicator.wait(leaves);
  }

  /// A message is identified by (step, microbatch, from, to, payload); the two stages are those of its ends.
  std::uint64_t message_tag(const OperationInstance& instance, int from, int to, strategies::Payload payload) const {
    std::uint64_t tag = static_cast<std::uint64_t>(instance.step);
    const auto stages = static_cast<std::uint64_t>(state_.program.stage_of_virtual.size());
    tag = (tag << 20) + static_cast<std::uint64_t>(action_of(instance).microbatch);  // at most a million
    tag = (tag * stages + static_cast<std::uint64_t>(from)) * stages + static_cast<std::uint64_t>(to);
    return 2 * tag + static_cast<std::uint64_t>(payload);
  }

  /// A message smaller than its buffer is this tensor rank's share of it.
  Request post_send(const Send& send, const OperationInstance& instance) {
    const auto bytes = static_cast<std::size_t>(send.bytes.value());
    std::span<const std::byte> data = std::as_bytes(reads_.at(0));
    if (bytes < data.size()) data = data.subspan(bytes * static_cast<std::size_t>(state_.place.tensor), bytes);
    const int from = block_of(instance).virtual_stage;
    return state_.communicator.send(state_.program.peer(state_.place.rank, send.virtual_stage).value,
                                    message_tag(instance, from, send.virtual_stage, send.payload), data);
  }

  void await_message(const Receive& receive, const OperationInstance& instance) {
    const std::span<std::byte> data =
        std::as_writable_bytes(writes_.at(0)).first(static_cast<std::size_t>(receive.bytes.value()));
    const int to = block_of(instance).virtual_stage;
    state_.communicator.wait(
        state_.communicator.receive(state_.program.peer(state_.place.rank, receive.virtual_stage).value,
                                    message_tag(instance, receive.virtual_stage, to, receive.payload), data));
  }

  void progress() {
    if (state_.communicator.ranks() == 1) return;
    state_.communicator.progress();
    std::erase_if(sends_, [this](const PendingSend& send) { return state_.communicator.test(send.request); });
  }

  void end_step(int step) {
    const bool reports_loss = state_.place.tensor == 0;
    observer_.step({.step = step,
                    .loss_sum = reports_loss ? state_.loss_sum : 0,
                    .gradient_norm = state_.gradient_norm.value_or(-1),
                    .end_ns = now_ns() - choice_.start_ns});
    state_.loss_sum = 0;
  }

  /// Elements of the tensor rank's share of a parameter.
  std::size_t share_of(const Buffer& buffer) const {
    const auto whole = static_cast<std::size_t>(whole_elements(buffer.slice));
    return buffer.slice.sharded_axis < 0 ? whole : whole / static_cast<std::size_t>(state_.place.tensors);
  }
  Pieces::Range held_range(const Buffer& buffer) const {
    const std::size_t share = share_of(buffer);
    return buffer.slice.pieces > 1 ? state_.pieces.own_piece(share) : Pieces::Range{0, share};
  }

  void set_initial_weights() {
    std::vector<float> share;
    for (const BufferId held : held_weights(state_.role)) {
      const Buffer& buffer = state_.role.buffers[held.value];
      const Pieces::Range range = held_range(buffer);
      share.resize(share_of(buffer));
      initial_values(buffer.slice, state_.place.tensor, state_.place.tensors, hidden(), state_.settings.seed, share);
      std::copy_n(share.begin() + static_cast<std::ptrdiff_t>(range.begin), range.size(),
                  buffers_.memory(held).begin());
    }
  }

  /// Columns of what norms work on.
  std::int64_t hidden() const {
    for (const strategies::Block& block : state_.role.blocks) {
      for (const Operation& operation : block.operations) {
        if (const auto* norm = kernel_of<hw_models::Norm>(operation)) return norm->columns;
      }
    }
    return 0;
  }

  void finish(std::int64_t processor) {
    const unsigned processors = std::thread::hardware_concurrency();  // 0: unknown
    RankSummary summary{.weights_hash = kHashBasis,
                        .peak_bytes = static_cast<std::int64_t>(arena_.peak()),
                        .workspace_bytes = static_cast<std::int64_t>(state_.workspace_bytes()),
                        .processor_ns = processor,
                        .crowded = processors > 0 && static_cast<unsigned>(choice_.local_rank) >= processors};
    std::vector<HeldParameter> parameters;
    for (const BufferId held : held_weights(state_.role)) {
      const Buffer& buffer = state_.role.buffers[held.value];
      const Pieces::Range range = held_range(buffer);
      const std::span<float> values = buffers_.memory(held).first(range.size());
      summary.weights_hash = hashed(summary.weights_hash, values);
      parameters.push_back({&buffer, values, state_.place.tensor, state_.place.tensors, range.begin});
    }
    observer_.finished(summary, parameters);
  }

  RunObserver& observer_;
  RunChoice choice_;
  RankState state_;
  Arena arena_;
  LiveBuffers buffers_;
  std::vector<PendingSend> sends_;  ///< whose bytes may not have left yet
  std::map<OperationInstance, LiveBuffers::Operands> issued_;
  std::optional<OperationInstance> started_;
  std::vector<std::span<float>> reads_, writes_;  ///< of the operation that runs
  strategies::RankInterpreter interpreter_;
};

}  // namespace

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void run_rank(const strategies::Program& program, strategies::Rank rank, const RunSettings& settings,
              const Corpus& corpus, Communicator& communicator, RunObserver& observer, const RunChoice& choice) {
  RankRun(program, rank, settings, corpus, communicator, observer, choice).run();
}

}  // namespace executor::cpu
