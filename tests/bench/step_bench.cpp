// Goals, on one core of a laptop-class CPU, Release:
//   SimulateBlocks     64 stages x 512 microbatches x 130 operations per block < 0.3 s (two steps)
//   SimulateOperations > 1 M operations/s
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "sim/step_simulation.h"
#include "strategies/build_program.h"
#include "strategies/pipeline/schedule.h"
#include "strategies/program/program.h"

namespace {

using strategies::BlockKind;
using strategies::Lane;
using strategies::Operation;
using strategies::Payload;

Operation operation(strategies::Work work, Lane lane, std::vector<strategies::OperationId> after) {
  Operation result;
  result.work = std::move(work);
  result.lane = lane;
  result.after = std::move(after);
  return result;
}

/// Alternates three computations and a collective that the next one waits for.
strategies::Block layers(BlockKind kind, int stage, int stages) {
  constexpr std::uint32_t kOperations = 130;
  const bool forward = kind == BlockKind::kForward;
  const Payload payload = forward ? Payload::kActivation : Payload::kGradient;
  const int from = forward ? stage - 1 : stage + 1;
  const int to = forward ? stage + 1 : stage - 1;
  strategies::Block block;
  block.kind = kind;
  block.virtual_stage = stage;
  std::vector<Operation>& operations = block.operations;
  if (from >= 0 && from < stages) {
    operations.push_back(operation(strategies::Receive{from, hw_models::Bytes(1), payload},
                                   forward ? Lane::kReceivePrevious : Lane::kReceiveNext, {}));
  }
  while (operations.size() < kOperations) {
    std::vector<strategies::OperationId> after;
    if (!operations.empty()) after.push_back({static_cast<std::uint32_t>(operations.size() - 1)});
    const bool tensor = operations.size() % 4 == 3;
    operations.push_back(tensor ? operation(strategies::Collective{}, Lane::kTensor, after)
                                : operation(strategies::Compute{}, Lane::kCompute, after));
  }
  if (to >= 0 && to < stages) {
    operations.push_back(operation(strategies::Send{to, hw_models::Bytes(1), payload},
                                   forward ? Lane::kSendNext : Lane::kSendPrevious, {{kOperations - 1}}));
  }
  return block;
}

strategies::Program pipeline(int stages, int microbatches) {
  strategies::Program program;
  program.views = {{{{"dp", 2}, {"pp", stages}}}};
  program.groups = {{"data", 0, {{0, {}}}}};
  for (int stage = 0; stage < stages; ++stage) {
    program.stage_of_virtual.push_back(stage);
    for (int replica = 0; replica < 2; ++replica) program.role_of_rank.push_back(static_cast<std::uint32_t>(stage));
    strategies::Role& role = program.roles.emplace_back();
    role.blocks = {layers(BlockKind::kForward, stage, stages), layers(BlockKind::kBackward, stage, stages)};
    for (const auto& action : strategies::find_schedule("1f1b")->actions({stages, 1, microbatches}, stage)) {
      role.schedule.push_back({action.kind == BlockKind::kForward ? 0U : 1U, action.microbatch, {}});
    }
  }
  return program;
}

sim::Prices prices_of(const strategies::Program& program, sim::RankClasses classes) {
  sim::Prices prices;
  prices.classes = std::move(classes);
  for (const sim::RankClass& each : prices.classes.all) {
    auto& blocks = prices.of.emplace_back();
    for (const strategies::Block& block : program.roles[each.role].blocks) {
      auto& operations = blocks.emplace_back();
      for (std::size_t i = 0; i < block.operations.size(); ++i) {
        const bool receive = std::holds_alternative<strategies::Receive>(block.operations[i].work);
        operations.push_back({4'000, receive ? 0 : 20'000 + static_cast<std::int64_t>(i * 7'919 % 30'011), 0, ""});
      }
    }
  }
  return prices;
}

std::int64_t operations_of(const strategies::Program& program) {
  std::int64_t operations = 0;
  for (const strategies::Role& role : program.roles) {
    for (const strategies::Action& action : role.schedule) {
      operations += static_cast<std::int64_t>(role.blocks[action.block].operations.size());
    }
  }
  return operations;
}

void SimulateBlocks(benchmark::State& state) {
  const strategies::Program program = pipeline(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const sim::Prices prices = prices_of(program, sim::classes_by_role(program));
  for ([[maybe_unused]] const auto _ : state) {
    benchmark::DoNotOptimize(sim::simulate_lanes(program, prices).step_ns);
  }
}
BENCHMARK(SimulateBlocks)->Args({16, 64})->Args({64, 512})->Unit(benchmark::kMillisecond);

void SimulateOperations(benchmark::State& state) {
  const strategies::Program program = pipeline(8, 32);
  const sim::Prices prices = prices_of(program, sim::classes_by_role(program));
  for ([[maybe_unused]] const auto _ : state) {
    benchmark::DoNotOptimize(sim::simulate_operations(program, prices).step_ns);
  }
  state.SetItemsProcessed(state.iterations() * 2 * operations_of(program));
}
BENCHMARK(SimulateOperations)->Unit(benchmark::kMillisecond);

/// Every rank by itself, Program construction included. Goal: 5 s.
void SimulateUnfolded(benchmark::State& state) {
  strategies::ModelSpec model;
  model.layers = 8;
  model.hidden = 4096;
  model.heads = model.kv_heads = 32;
  model.head_dim = 128;
  model.ffn = 16384;
  model.vocabulary = 32000;
  strategies::TrainingSpec training;
  training.sequence_length = 2048;
  training.global_batch = 256;
  strategies::PlanSpec plan;
  plan.data = 32;
  plan.tensor = 8;
  plan.pipeline = 4;
  for ([[maybe_unused]] const auto _ : state) {
    const strategies::Program program = strategies::build_program(model, training, plan, {});
    const sim::Prices prices = prices_of(program, sim::single_ranks(program));
    benchmark::DoNotOptimize(sim::simulate_lanes(program, prices).step_ns);
  }
}
BENCHMARK(SimulateUnfolded)->Unit(benchmark::kMillisecond);

}  // namespace
