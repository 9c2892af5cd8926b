#include "tests/sim/step_programs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <variant>

namespace tests {
namespace {

using strategies::Action;
using strategies::Block;
using strategies::BlockKind;
using strategies::Collective;
using strategies::Compute;
using strategies::CrossDependence;
using strategies::HostReason;
using strategies::Lane;
using strategies::Operation;
using strategies::OperationId;
using strategies::Payload;
using strategies::Phase;
using strategies::Program;
using strategies::Receive;
using strategies::Role;
using strategies::ScheduleShape;
using strategies::Send;

OperationId last_of(const Block& block) { return {static_cast<std::uint32_t>(block.operations.size() - 1)}; }

/// One chunk's forward or backward between its receive and its send; neighbours on the same stage need none.
Block chunk_block(BlockKind kind, int virtual_stage, const std::vector<int>& stage_of, const Operation& work) {
  const bool forward = kind == BlockKind::kForward;
  const Payload payload = forward ? Payload::kActivation : Payload::kGradient;
  const int from = forward ? virtual_stage - 1 : virtual_stage + 1;
  const int to = forward ? virtual_stage + 1 : virtual_stage - 1;
  const auto elsewhere = [&](int other) {
    const int virtual_stages = static_cast<int>(stage_of.size());
    const auto stage = [&](int v) { return stage_of[static_cast<std::size_t>(v)]; };
    return other >= 0 && other < virtual_stages && stage(other) != stage(virtual_stage);
  };
  Block block;
  block.kind = kind;
  block.virtual_stage = virtual_stage;
  if (kind == BlockKind::kBackwardWeight) {
    block.operations = {work};
    return block;
  }
  if (elsewhere(from)) block.operations.push_back(receive_from(from, payload));
  block.operations.push_back(work);
  if (block.operations.size() > 1) block.operations.back().after = {{0}};
  if (elsewhere(to)) block.operations.push_back(send_to(to, payload, {last_of(block)}));
  return block;
}

/// The standard's distributions differ between libraries; this does not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  int below(int limit) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(limit)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

Operation random_work(Dice& dice, std::uint32_t index) {
  constexpr std::array<Lane, 6> kLanes{Lane::kTensor,  Lane::kData,   Lane::kGather,
                                       Lane::kContext, Lane::kExpert, Lane::kStorage};
  constexpr std::array<Phase, 4> kPhases{Phase::kForward, Phase::kRecompute, Phase::kBackward, Phase::kUpdate};
  const Lane lane = dice.one_in(2) ? Lane::kCompute : kLanes[static_cast<std::size_t>(dice.below(6))];
  Operation operation = timed(lane, dice.below(60), kPhases[static_cast<std::size_t>(dice.below(4))]);
  if (lane == Lane::kCompute && dice.one_in(10)) operation = timed_collective(lane, dice.below(40), 0);
  for (int n = dice.below(3); n > 0 && index > 0; --n) {
    operation.after.push_back({static_cast<std::uint32_t>(dice.below(static_cast<int>(index)))});
  }
  return operation;
}

Block random_block(Dice& dice, BlockKind kind, int stage, int stages) {
  const bool forward = kind == BlockKind::kForward;
  const Payload payload = forward ? Payload::kActivation : Payload::kGradient;
  const int from = forward ? stage - 1 : stage + 1;
  const int to = forward ? stage + 1 : stage - 1;
  Block block;
  block.kind = kind;
  block.virtual_stage = stage;
  const int operations = 3 + dice.below(10);
  const bool blocking = dice.one_in(2);  // launches
  const int receives_at = dice.one_in(2) ? 0 : dice.below(operations);
  const int sends_at = dice.below(operations);
  for (int i = 0; i < operations; ++i) {
    if (kind != BlockKind::kUpdate && i == receives_at && from >= 0 && from < stages) {
      block.operations.push_back(receive_from(from, payload));
    }
    block.operations.push_back(random_work(dice, static_cast<std::uint32_t>(block.operations.size())));
    if (blocking && !dice.one_in(12)) {
      block.operations.push_back(host_operation(HostReason::kBlockingLaunch, 0, {last_of(block)}));
    }
    if (kind != BlockKind::kUpdate && i == sends_at && to >= 0 && to < stages) {
      block.operations.push_back(send_to(to, payload, {last_of(block)}));
    }
    if (dice.one_in(25)) block.operations.push_back(host_operation(HostReason::kLossRead));
    if (dice.one_in(25)) block.operations.push_back(host_operation(HostReason::kStepOverhead));
    if (dice.one_in(25)) block.operations.push_back(host_operation(HostReason::kBlockingSend, 0, {last_of(block)}));
    if (forward && dice.one_in(15)) block.operations.push_back(host_operation(HostReason::kInput, 1 + dice.below(3)));
  }
  return block;
}

void add_random_dependences(Dice& dice, Role& role) {
  for (std::uint32_t a = 0; a < role.schedule.size(); ++a) {
    for (int n = dice.below(3); n > 0; --n) {
      CrossDependence d;
      d.steps_back = a == 0 || dice.one_in(2) ? 1 : 0;
      d.action = static_cast<std::uint32_t>(
          dice.below(d.steps_back == 0 ? static_cast<int>(a) : static_cast<int>(role.schedule.size())));
      const auto operation_of = [&](std::uint32_t action) {
        const std::size_t count = role.blocks[role.schedule[action].block].operations.size();
        return OperationId{static_cast<std::uint32_t>(dice.below(static_cast<int>(count)))};
      };
      d.operation = operation_of(d.action);
      d.dependent = operation_of(a);
      role.schedule[a].after.push_back(d);
    }
  }
}

std::int64_t duration_of(const Operation& operation, std::int64_t send_ns, std::int64_t host_ns) {
  if (const auto* compute = std::get_if<Compute>(&operation.work)) {
    constexpr std::int64_t kOtherKernel = 400'000;
    const auto* measured = std::get_if<hw_models::Measured>(&compute->kernel);
    return measured == nullptr ? kOtherKernel : std::llround(measured->seconds * 1e9);
  }
  if (const auto* collective = std::get_if<Collective>(&operation.work)) return collective->bytes.value();
  if (std::holds_alternative<Send>(operation.work)) return send_ns;
  return std::holds_alternative<strategies::Host>(operation.work) ? host_ns : 0;
}

}  // namespace

Operation timed(Lane lane, std::int64_t ns, Phase phase, std::vector<OperationId> after) {
  if (lane != Lane::kCompute) return timed_collective(lane, ns, 0, std::move(after));
  Operation operation;
  operation.work = Compute{hw_models::Measured{static_cast<double>(ns) * 1e-9}};
  operation.lane = lane;
  operation.origin.phase = phase;
  operation.after = std::move(after);
  return operation;
}

Operation timed_collective(Lane lane, std::int64_t ns, std::uint32_t group, std::vector<OperationId> after) {
  Collective collective;
  collective.group = {group};
  collective.bytes = hw_models::Bytes(ns);
  Operation operation;
  operation.work = collective;
  operation.lane = lane;
  operation.after = std::move(after);
  return operation;
}

Operation host_operation(HostReason reason, std::int64_t samples, std::vector<OperationId> after) {
  Operation operation;
  operation.work = strategies::Host{reason, samples};
  operation.lane = Lane::kHost;
  operation.after = std::move(after);
  return operation;
}

Operation send_to(int virtual_stage, Payload payload, std::vector<OperationId> after) {
  Operation operation;
  operation.work = Send{virtual_stage, hw_models::Bytes(1), payload};
  operation.lane = payload == Payload::kActivation ? Lane::kSendNext : Lane::kSendPrevious;
  operation.after = std::move(after);
  return operation;
}

Operation receive_from(int virtual_stage, Payload payload) {
  Operation operation;
  operation.work = Receive{virtual_stage, hw_models::Bytes(1), payload};
  operation.lane = payload == Payload::kActivation ? Lane::kReceivePrevious : Lane::kReceiveNext;
  return operation;
}

Program empty_program(int data, int stages, int chunks) {
  Program program;
  program.views = {{{{"dp", data}, {"pp", stages}}}};
  program.groups = {{"data", 0, {{0, {}}}}, {"all", 0, {{0, {}}, {1, {}}}}, {"ends", 0, {{1, {0, stages - 1}}}}};
  if (stages == 1) program.groups[2].spans[0].coordinates = {0};
  for (int v = 0; v < stages * chunks; ++v) program.stage_of_virtual.push_back(v % stages);
  for (int stage = 0; stage < stages; ++stage) {
    Role role;
    role.name = "stage " + std::to_string(stage);
    role.stage = stage;
    program.roles.push_back(std::move(role));
    for (int d = 0; d < data; ++d) program.role_of_rank.push_back(static_cast<std::uint32_t>(stage));
  }
  return program;
}

sim::Prices timed_prices(const Program& program, std::int64_t send_ns, std::int64_t issue_ns, std::int64_t host_ns) {
  return timed_prices(program, sim::classes_by_role(program), send_ns, issue_ns, host_ns);
}

sim::Prices timed_prices(const Program& program, const sim::RankClasses& classes, std::int64_t send_ns,
                         std::int64_t issue_ns, std::int64_t host_ns) {
  sim::Prices prices;
  prices.classes = classes;
  for (const sim::RankClass& each : classes.all) {
    auto& blocks = prices.of.emplace_back();
    for (const Block& block : program.roles[each.role].blocks) {
      auto& operations = blocks.emplace_back();
      for (const Operation& operation : block.operations) {
        const bool host = std::holds_alternative<strategies::Host>(operation.work);
        std::int64_t duration_ns = duration_of(operation, send_ns, host_ns);
        if (std::holds_alternative<Compute>(operation.work)) {
          duration_ns = static_cast<std::int64_t>(std::ceil(static_cast<double>(duration_ns) / each.speed));
        }
        operations.push_back({host ? 0 : issue_ns, duration_ns, 0, ""});
      }
    }
  }
  return prices;
}

namespace {

constexpr std::array<BlockKind, 4> kChunkKinds{BlockKind::kForward, BlockKind::kBackward, BlockKind::kBackwardInput,
                                               BlockKind::kBackwardWeight};

/// In the order of kChunkKinds.
void add_chunk_blocks(const Program& program, Role& role, int virtual_stage, const ChunkTimes& times,
                      std::int64_t activation) {
  const strategies::BufferId kept{static_cast<std::uint32_t>(role.buffers.size())};
  role.buffers.push_back(
      {"kept", hw_models::Bytes(activation), strategies::Holds::kActivations, strategies::Lifetime::kMicrobatch, {}});
  Operation forward = timed(Lane::kCompute, times.forward_ns);
  forward.allocates = {kept};
  Operation backward = timed(Lane::kCompute, times.backward_ns + times.weight_ns, Phase::kBackward);
  backward.frees = {kept};
  const Operation input = timed(Lane::kCompute, times.backward_ns, Phase::kBackward);
  Operation weight = timed(Lane::kCompute, times.weight_ns, Phase::kWeightGradient);
  weight.frees = {kept};
  const std::array works{forward, backward, input, weight};
  for (std::size_t k = 0; k < works.size(); ++k) {
    role.blocks.push_back(chunk_block(kChunkKinds[k], virtual_stage, program.stage_of_virtual, works[k]));
  }
}

}  // namespace

Program scheduled_program(const strategies::Schedule& schedule, const ScheduleShape& shape, const ChunkTimes& times,
                          std::int64_t activation) {
  Program program = empty_program(1, shape.stages, shape.chunks);
  program.stage_of_virtual = schedule.stage_of_virtual(shape);
  const strategies::Orders orders = schedule.orders(shape);
  for (int stage = 0; stage < shape.stages; ++stage) {
    Role& role = program.roles[static_cast<std::size_t>(stage)];
    for (int v = 0; v < shape.stages * shape.chunks; ++v) {
      if (program.stage_of_virtual[static_cast<std::size_t>(v)] == stage)
        add_chunk_blocks(program, role, v, times, activation);
    }
    for (const strategies::ComputeAction& action : orders[static_cast<std::size_t>(stage)]) {
      const auto kind = std::ranges::find(kChunkKinds, action.kind);
      const auto block = 4 * action.chunk + (kind - kChunkKinds.begin());
      role.schedule.push_back({static_cast<std::uint32_t>(block), action.microbatch, {}});
    }
  }
  return program;
}

void add_random_loads(std::uint64_t seed, const Program& program, sim::Prices& prices) {
  Dice dice(seed);
  std::vector<sim::LoadId> loads{sim::kNoLoad};
  for (int i = 0; i < 5; ++i) {
    sim::PortLoad load{.multiprocessors = dice.below(1200), .memory = dice.below(1500)};
    for (std::int32_t& port : load.ports) port = dice.one_in(2) ? dice.below(4097) : 0;
    loads.push_back(prices.loads.add(load));
  }
  std::vector<std::vector<std::vector<std::pair<sim::LoadId, sim::Bound>>>> of_role;
  for (const Role& role : program.roles) {
    auto& blocks = of_role.emplace_back();
    for (const Block& block : role.blocks) {
      auto& operations = blocks.emplace_back();
      for (std::size_t i = 0; i < block.operations.size(); ++i) {
        operations.emplace_back(loads[static_cast<std::size_t>(dice.below(6))], static_cast<sim::Bound>(dice.below(3)));
      }
    }
  }
  for (std::size_t process = 0; process < prices.classes.size(); ++process) {
    const std::uint32_t role = prices.classes.all[process].role;
    for (std::size_t b = 0; b < of_role[role].size(); ++b) {
      for (std::size_t i = 0; i < of_role[role][b].size(); ++i) {
        const Operation& operation = program.roles[role].blocks[b].operations[i];
        sim::OperationPrice& price = prices.of[process][b][i];
        if (std::holds_alternative<Compute>(operation.work)) price.bound = of_role[role][b][i].second;
        const bool transfer =
            std::holds_alternative<Collective>(operation.work) || std::holds_alternative<Send>(operation.work);
        if (transfer) price.load = of_role[role][b][i].first;
      }
    }
  }
}

Program random_program(std::uint64_t seed) {
  Dice dice(seed);
  const int stages = 1 + dice.below(4);
  const ScheduleShape shape{stages, 1, 1 + dice.below(10)};
  const bool tied = dice.one_in(2);
  Program program = empty_program(1 + dice.below(2), stages, 1);
  for (int stage = 0; stage < stages; ++stage) {
    Role& role = program.roles[static_cast<std::size_t>(stage)];
    for (const BlockKind kind : {BlockKind::kForward, BlockKind::kBackward, BlockKind::kUpdate}) {
      role.blocks.push_back(random_block(dice, kind, stage, stages));
    }
    for (const auto& action : strategies::find_schedule("1f1b")->actions(shape, stage)) {
      role.schedule.push_back({action.kind == BlockKind::kForward ? 0U : 1U, action.microbatch, {}});
    }
    // The last backward may start the reduction of a tied embedding before it sends on.
    if (tied && (stage == 0 || stage == stages - 1)) {
      role.blocks.push_back(role.blocks[1]);
      auto& operations = role.blocks.back().operations;
      Operation joint = timed_collective(Lane::kData, dice.below(50), 2);
      if (dice.one_in(2)) {
        operations.push_back(joint);
      } else {
        operations.insert(operations.begin(), joint);
        for (std::size_t i = 1; i < operations.size(); ++i) {
          for (OperationId& earlier : operations[i].after) ++earlier.value;
        }
      }
      role.schedule.back().block = 3;
    }
    role.blocks[2].operations.push_back(timed_collective(Lane::kData, dice.below(50), 1));
    role.schedule.push_back({2, -1, {}});
    add_random_dependences(dice, role);
  }
  return program;
}

}  // namespace tests
