// Programs solved by hand, for both simulations.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <utility>

#include "sim/step_simulation.h"
#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using strategies::HostReason;
using strategies::Lane;
using strategies::Operation;
using strategies::Payload;
using strategies::Phase;
using strategies::Program;

struct Expected {
  std::int64_t step_ns = 0;
  std::vector<std::vector<std::pair<TimeKind, std::int64_t>>> roles;  ///< what is not named is 0
};

void expect(const Program& program, const Prices& prices, const Expected& expected) {
  for (const bool blocks : {false, true}) {
    SCOPED_TRACE(blocks ? "simulate_lanes" : "simulate_operations");
    const StepResult result = blocks ? simulate_lanes(program, prices) : simulate_operations(program, prices);
    EXPECT_EQ(result.step_ns, expected.step_ns);
    ASSERT_EQ(result.of_class.size(), expected.roles.size());
    for (std::size_t role = 0; role < result.of_class.size(); ++role) {
      Breakdown breakdown{};
      for (const auto& [kind, ns] : expected.roles[role]) breakdown[static_cast<std::size_t>(kind)] = ns;
      EXPECT_EQ(result.of_class[role].breakdown, breakdown) << "role " << role;
    }
  }
}

/// One role; one block called once.
Program one_block(std::vector<Operation> operations) {
  Program program = tests::empty_program(2, 1, 1);
  program.roles[0].blocks = {{.operations = std::move(operations)}};
  program.roles[0].schedule = {{0, 0, {}}};
  return program;
}

TEST(StepSimulation, ComputeAloneIsBusyAllTheTime) {
  const Program program =
      one_block({tests::timed(Lane::kCompute, 10), tests::timed(Lane::kCompute, 7, Phase::kRecompute),
                 tests::timed(Lane::kCompute, 3, Phase::kUpdate)});
  expect(program, tests::timed_prices(program, 0, 0, 0),
         {20, {{{TimeKind::kCompute, 10}, {TimeKind::kRecompute, 7}, {TimeKind::kOptimizer, 3}}}});
}

/// A transfer that fills a port alone and holds a quarter of the multiprocessors.
LoadId full_port(Prices& prices, std::int32_t share = kFullRate) {
  PortLoad load{.multiprocessors = kFullRate / 4};
  load.ports[0] = share;
  return prices.loads.add(load);
}

// Two collectives of 100 on two lanes, with the port for themselves in turn: 100. Sharing it: 200.
TEST(StepSimulation, EqualCollectivesOnOnePortTakeTwiceAsLong) {
  Program program = one_block({tests::timed(Lane::kData, 100), tests::timed(Lane::kGather, 100),
                               tests::timed(Lane::kCompute, 0, Phase::kForward, {{0}, {1}})});
  program.roles[0].schedule[0].after = {{1, 0, {2}, {0}}, {1, 0, {2}, {1}}};
  Prices prices = tests::timed_prices(program, 0, 0, 0);
  expect(program, prices, {100, {{{TimeKind::kExposedData, 100}}}});
  for (std::size_t i : {0U, 1U}) prices.of[0][0][i].load = full_port(prices);
  expect(program, prices, {200, {{{TimeKind::kExposedData, 200}}}});
  EXPECT_EQ(simulate_operations(program, prices).contention_ns, 100);
  // One that wants half of the port only keeps its speed: 100; the other has done 50 by then and ends at 150.
  prices.of[0][0][1].load = full_port(prices, kFullRate / 2);
  expect(program, prices, {150, {{{TimeKind::kExposedData, 150}}}});
}

// A kernel of 300 beside a collective of 90 that holds a quarter of the multiprocessors: 90 x 3/4 is done meanwhile,
// 300 - 67.5 is left. One that is short of nothing is not slowed.
TEST(StepSimulation, ACollectiveSlowsTheKernelItOverlaps) {
  Program program = one_block({tests::timed(Lane::kData, 90), tests::timed(Lane::kCompute, 300, Phase::kForward)});
  program.roles[0].schedule[0].after = {{1, 0, {1}, {0}}};
  Prices prices = tests::timed_prices(program, 0, 0, 0);
  prices.of[0][0][0].load = full_port(prices);
  expect(program, prices, {300, {{{TimeKind::kCompute, 300}}}});
  prices.of[0][0][1].bound = Bound::kMultiprocessors;
  expect(program, prices, {323, {{{TimeKind::kCompute, 323}}}});
  EXPECT_EQ(simulate_lanes(program, prices).contention_ns, 23);
}

// A message of 100 while the sender's port is shared with a collective of 60 from the same time on: 120 for both
// to be at 60 done; the message has 40 left: it arrives at 160.
TEST(StepSimulation, AMessageSharesThePortOfItsSender) {
  Program program = tests::empty_program(1, 2, 1);
  program.roles[0].blocks = {{.virtual_stage = 0,
                              .operations = {tests::send_to(1, Payload::kActivation, {}), tests::timed(Lane::kData, 60),
                                             tests::timed(Lane::kCompute, 0, Phase::kForward, {{0}, {1}})}}};
  program.roles[1].blocks = {{.virtual_stage = 1,
                              .operations = {tests::receive_from(0, Payload::kActivation),
                                             tests::timed(Lane::kCompute, 10, Phase::kForward, {{0}})}}};
  for (auto& role : program.roles) role.schedule = {{0, 0, {}}};
  program.roles[0].schedule[0].after = {{1, 0, {2}, {0}}, {1, 0, {2}, {1}}};
  Prices prices = tests::timed_prices(program, 100, 0, 0);
  prices.of[0][0][0].load = prices.of[0][0][1].load = full_port(prices);
  for (const auto& result : {simulate_operations(program, prices), simulate_lanes(program, prices)}) {
    EXPECT_EQ(result.of_class[0].step_end_ns, 2 * 160);
    EXPECT_EQ(result.of_class[1].step_end_ns, 2 * 160 + 10);
  }
}

// Three kernels of 10 issued in 15 each: the host takes 45 a step.
TEST(StepSimulation, TheHostLimitsShortKernels) {
  const Program program =
      one_block({tests::timed(Lane::kCompute, 10), tests::timed(Lane::kCompute, 10), tests::timed(Lane::kCompute, 10)});
  expect(program, tests::timed_prices(program, 0, 15, 0), {45, {{{TimeKind::kCompute, 30}, {TimeKind::kHost, 15}}}});
}

// The host runs ahead until the loss is read: then 6 to read, 2 to issue the next kernel.
TEST(StepSimulation, AHostReadDrainsTheLanes) {
  const Program program = one_block({tests::timed(Lane::kCompute, 10), tests::timed(Lane::kCompute, 10),
                                     tests::host_operation(HostReason::kLossRead)});
  expect(program, tests::timed_prices(program, 0, 2, 6), {28, {{{TimeKind::kCompute, 20}, {TimeKind::kHost, 8}}}});
}

// A host that waits for every kernel issues the next one afterwards: (2 to issue + 10 + 6 to return) x 2.
TEST(StepSimulation, BlockingLaunchesExposeTheHost) {
  std::vector<Operation> operations;
  for (std::uint32_t kernel = 0; kernel < 2; ++kernel) {
    operations.push_back(tests::timed(Lane::kCompute, 10));
    operations.push_back(tests::host_operation(HostReason::kBlockingLaunch));
    operations.back().after = {{2 * kernel}};
  }
  const Program program = one_block(std::move(operations));
  expect(program, tests::timed_prices(program, 0, 2, 6), {36, {{{TimeKind::kCompute, 20}, {TimeKind::kHost, 16}}}});
}

// Step overhead does not wait for the lanes: the host needs 2 + 2 + 6 a step, hidden behind 20 of compute.
TEST(StepSimulation, OverheadOfTheHostHidesBehindCompute) {
  const Program program = one_block({tests::timed(Lane::kCompute, 10), tests::timed(Lane::kCompute, 10),
                                     tests::host_operation(HostReason::kStepOverhead)});
  expect(program, tests::timed_prices(program, 0, 2, 6), {20, {{{TimeKind::kCompute, 20}}}});
}

// A collective of 12 overlaps 5 of compute; the operation that needs it waits 7.
TEST(StepSimulation, OnlyTheExposedPartOfACollectiveCounts) {
  const std::pair<Lane, TimeKind> lanes[] = {{Lane::kTensor, TimeKind::kExposedTensor},
                                             {Lane::kData, TimeKind::kExposedData},
                                             {Lane::kContext, TimeKind::kExposedContext},
                                             {Lane::kExpert, TimeKind::kExposedExpert}};
  for (const auto& [lane, kind] : lanes) {
    const Program program =
        one_block({tests::timed(Lane::kCompute, 4), tests::timed(lane, 12, Phase::kForward, {{0}}),
                   tests::timed(Lane::kCompute, 5), tests::timed(Lane::kCompute, 3, Phase::kForward, {{1}})});
    expect(program, tests::timed_prices(program, 0, 0, 0), {19, {{{TimeKind::kCompute, 12}, {kind, 7}}}});
  }
}

// Gathered after the update (9), needed by the second operation of the next step: 4 of it hide.
TEST(StepSimulation, AGatherOverlapsTheNextStepOnce) {
  Program program = one_block({tests::timed(Lane::kCompute, 4), tests::timed(Lane::kCompute, 6),
                               tests::timed(Lane::kCompute, 2, Phase::kUpdate),
                               tests::timed(Lane::kGather, 9, Phase::kGather, {{2}})});
  program.roles[0].schedule[0].after = {{.steps_back = 1, .action = 0, .operation = {3}, .dependent = {1}}};
  expect(program, tests::timed_prices(program, 0, 0, 0),
         {17, {{{TimeKind::kCompute, 10}, {TimeKind::kOptimizer, 2}, {TimeKind::kExposedData, 5}}}});
}

// One sample per 25 ns, two per step; the step itself needs 30.
TEST(StepSimulation, ASlowInputStallsTheStep) {
  const Program program = one_block({tests::host_operation(HostReason::kInput, 2), tests::timed(Lane::kCompute, 30)});
  Prices prices = tests::timed_prices(program, 0, 0, 0);
  prices.input_samples_per_ns = 0.04;
  expect(program, prices, {50, {{{TimeKind::kCompute, 30}, {TimeKind::kDataStall, 20}}}});
}

// Stage 0 sends after 10, the message flies 4, stage 1 computes 20; no way back. Steady: stage 1 sets the pace, and
// stage 0 runs ahead; its last step is its own.
TEST(StepSimulation, AMessageArrivesAfterItsTransfer) {
  Program program = tests::empty_program(1, 2, 1);
  program.roles[0].blocks = {
      {.virtual_stage = 0,
       .operations = {tests::receive_from(1, Payload::kGradient), tests::timed(Lane::kCompute, 10),
                      tests::send_to(1, Payload::kActivation, {{1}})}}};
  program.roles[0].blocks[0].operations[1].after = {{0}};
  program.roles[1].blocks = {
      {.virtual_stage = 1,
       .operations = {tests::send_to(0, Payload::kGradient, {}), tests::receive_from(0, Payload::kActivation),
                      tests::timed(Lane::kCompute, 20, Phase::kForward, {{1}}),
                      tests::host_operation(HostReason::kLossRead)}}};
  program.roles[0].schedule = {{0, 0, {}}};
  program.roles[1].schedule = {{0, 0, {}}};
  // A round: gradient 4, compute 10, activation 4, compute 20. In the gap of stage 0 the gradient of the round before
  // leaves once stage 1 has computed.
  expect(program, tests::timed_prices(program, 4, 0, 0),
         {38,
          // Of the 24 that stage 0 waits, 10 are the work it lacks to stage 1.
          {{{TimeKind::kCompute, 10},
            {TimeKind::kExposedPipeline, 4},
            {TimeKind::kBubble, 14},
            {TimeKind::kImbalance, 10}},
           {{TimeKind::kCompute, 20}, {TimeKind::kExposedPipeline, 4}, {TimeKind::kBubble, 14}}}});
}

// All ranks reduce once a step: 8 ns from when the slower stage (30) is ready; the quicker one (10) waits for it.
TEST(StepSimulation, AJointCollectiveWaitsForTheLastRole) {
  Program program = tests::empty_program(2, 2, 1);
  for (int stage = 0; stage < 2; ++stage) {
    auto& role = program.roles[static_cast<std::size_t>(stage)];
    role.blocks = {{.virtual_stage = stage,
                    .operations = {tests::timed(Lane::kCompute, stage == 0 ? 10 : 30),
                                   tests::timed_collective(Lane::kData, stage == 0 ? 8 : 5, 1, {{0}}),
                                   tests::timed(Lane::kCompute, 1, Phase::kUpdate, {{1}})}}};
    role.schedule = {{0, -1, {}}};
  }
  expect(
      program, tests::timed_prices(program, 0, 0, 0),
      {39,
       {{{TimeKind::kCompute, 10}, {TimeKind::kOptimizer, 1}, {TimeKind::kExposedData, 8}, {TimeKind::kImbalance, 20}},
        {{TimeKind::kCompute, 30}, {TimeKind::kOptimizer, 1}, {TimeKind::kExposedData, 8}}}});
}

TEST(StepSimulation, RecordsTheLastStepOfEveryRole) {
  const Program program =
      one_block({tests::timed(Lane::kCompute, 4), tests::timed(Lane::kData, 12, Phase::kReduce, {{0}}),
                 tests::timed(Lane::kCompute, 5)});
  const Prices prices = tests::timed_prices(program, 0, 0, 0);
  for (const StepOptions options : {StepOptions{2, true}, StepOptions{4, true}}) {
    for (const StepResult& result :
         {simulate_operations(program, prices, options), simulate_lanes(program, prices, options)}) {
      ASSERT_EQ(result.records.size(), 3U);
      const std::int64_t start = result.records[0].begin_ns;
      EXPECT_EQ(start, 9 * (options.steps - 1));                 // compute is never idle
      const std::int64_t reduce = 4 + 12 * (options.steps - 1);  // the data lane lags
      const std::pair<std::int64_t, std::int64_t> times[] = {
          {start, start + 4}, {reduce, reduce + 12}, {start + 4, start + 9}};
      for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(result.records[i].rank, strategies::Rank{0});
        EXPECT_EQ(result.records[i].instance, (strategies::OperationInstance{options.steps - 1, 0, {i}}));
        EXPECT_EQ(std::pair(result.records[i].begin_ns, result.records[i].end_ns), times[i]) << i;
      }
    }
  }
}

// All lanes on one engine: nothing overlaps, and the compute lane waits for the collective to get off it.
TEST(StepSimulation, LanesThatShareAnEngineDoNotOverlap) {
  const Program program = one_block({tests::timed(Lane::kData, 12), tests::timed(Lane::kCompute, 5)});
  const Prices prices = tests::timed_prices(program, 0, 0, 0);
  EXPECT_EQ(simulate_operations(program, prices).step_ns, 12);
  const StepResult shared = simulate_operations(program, prices, {}, strategies::LaneEngines{});
  EXPECT_EQ(shared.step_ns, 17);
  EXPECT_EQ(shared.mean[static_cast<std::size_t>(TimeKind::kExposedData)], 12);
}

TEST(StepSimulation, RefusesWhatCannotMeet) {
  Program lonely = tests::empty_program(1, 2, 1);
  lonely.roles[1].blocks = {{.virtual_stage = 1, .operations = {tests::receive_from(0, Payload::kActivation)}}};
  lonely.roles[1].schedule = {{0, 0, {}}};
  Program absent = tests::empty_program(1, 2, 1);
  absent.roles[1].blocks = {{.operations = {tests::timed_collective(Lane::kData, 1, 1)}}};
  absent.roles[1].schedule = {{0, 0, {}}};
  for (const Program& program : {lonely, absent}) {
    const Prices prices = tests::timed_prices(program, 0, 0, 0);
    EXPECT_THROW(simulate_operations(program, prices), std::invalid_argument);
    EXPECT_THROW(simulate_lanes(program, prices), std::invalid_argument);
  }
}

// Two replicas, one of half the speed: 10 and 20 of computing, then a reduction of 7 that both wait for.
TEST(StepSimulation, TheFasterReplicaWaitsForTheSlowOne) {
  const Program program =
      one_block({tests::timed(Lane::kCompute, 10), tests::timed_collective(Lane::kData, 7, 0, {{0}}),
                 tests::timed(Lane::kCompute, 3, Phase::kUpdate, {{1}})});
  const RankClasses ranks = single_ranks(program, {SlowGpu{strategies::Rank{1}, 0.5}});
  expect(
      program, tests::timed_prices(program, ranks, 0, 0, 0),
      {33,
       {{{TimeKind::kCompute, 10}, {TimeKind::kOptimizer, 3}, {TimeKind::kExposedData, 7}, {TimeKind::kStraggler, 13}},
        {{TimeKind::kCompute, 20}, {TimeKind::kOptimizer, 6}, {TimeKind::kExposedData, 7}}}});
}

}  // namespace
}  // namespace sim
