#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/step_simulation.h"
#include "strategies/build_program.h"
#include "tests/programs/handmade.h"
#include "tests/programs/small_plans.h"
#include "tests/sanitized.h"
#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using strategies::Program;

std::optional<StepResult> simulated(StepResult (*simulate)(const Program&, const Prices&, const StepOptions&),
                                    const Program& program, const Prices& prices, const StepOptions& options) {
  try {
    return simulate(program, prices, options);
  } catch (const std::runtime_error&) {  // it hangs
    return std::nullopt;
  }
}

StepResult reference(const Program& program, const Prices& prices, const StepOptions& options) {
  return simulate_operations(program, prices, options);
}

void expect_equal(const StepResult& blocks, const StepResult& operations) {
  EXPECT_EQ(blocks.step_ns, operations.step_ns);
  EXPECT_EQ(blocks.mean, operations.mean);
  EXPECT_EQ(blocks.contention_ns, operations.contention_ns);
  ASSERT_EQ(blocks.of_class.size(), operations.of_class.size());
  for (std::size_t role = 0; role < blocks.of_class.size(); ++role) {
    EXPECT_EQ(blocks.of_class[role].step_end_ns, operations.of_class[role].step_end_ns) << "role " << role;
    for (std::size_t kind = 0; kind < kTimeKinds; ++kind) {
      EXPECT_EQ(blocks.of_class[role].breakdown[kind], operations.of_class[role].breakdown[kind])
          << "role " << role << " " << name(static_cast<TimeKind>(kind));
    }
  }
  ASSERT_EQ(blocks.records.size(), operations.records.size());
  for (std::size_t i = 0; i < blocks.records.size(); ++i) {
    const strategies::OperationRecord& a = blocks.records[i];
    const strategies::OperationRecord& b = operations.records[i];
    ASSERT_TRUE(a.rank == b.rank && a.instance == b.instance && a.begin_ns == b.begin_ns && a.end_ns == b.end_ns)
        << "rank " << b.rank.value << " action " << b.instance.action << " operation " << b.instance.operation.value
        << ": [" << a.begin_ns << ", " << a.end_ns << ") instead of [" << b.begin_ns << ", " << b.end_ns << ")";
  }
}

/// Rank by rank.
void expect_equal_ranks(const StepResult& one, const StepResult& other) {
  EXPECT_EQ(one.step_ns, other.step_ns);
  EXPECT_EQ(one.mean, other.mean);
  ASSERT_EQ(one.classes.of_rank.size(), other.classes.of_rank.size());
  for (std::size_t rank = 0; rank < one.classes.of_rank.size(); ++rank) {
    const ClassResult& a = one.of_class[one.classes.of_rank[rank]];
    const ClassResult& b = other.of_class[other.classes.of_rank[rank]];
    ASSERT_EQ(a.breakdown, b.breakdown) << "rank " << rank;
    ASSERT_EQ(a.step_end_ns, b.step_end_ns) << "rank " << rank;
  }
}

/// Whether both finish; expects them to agree.
bool both_agree(const Program& program, const Prices& prices, int steps) {
  bool finished = false;
  for (const bool records : {false, true}) {
    const StepOptions options{steps, records};
    const auto blocks = simulated(simulate_lanes, program, prices, options);
    const auto operations = simulated(reference, program, prices, options);
    EXPECT_EQ(blocks.has_value(), operations.has_value());
    finished = blocks.has_value() && operations.has_value();
    if (finished) expect_equal(*blocks, *operations);
  }
  return finished;
}

TEST(LaneSimulation, EqualsReferenceOnHandmadePrograms) {
  for (const tests::HandmadeProgram& handmade : tests::handmade_programs()) {
    SCOPED_TRACE(handmade.name);
    const Program program = handmade.make();
    for (const std::int64_t issue_ns : {0, 5'000, 3'000'000}) {
      EXPECT_TRUE(both_agree(program, tests::timed_prices(program, 700'000, issue_ns, 100'000), 3));
    }
  }
}

TEST(LaneSimulation, EqualsReferenceOnSchedules) {
  for (const strategies::Schedule& schedule : strategies::schedules()) {
    for (const int stages : {1, 2, 4}) {
      const int chunks = std::min(3, schedule.maximum_chunks);
      const Program program = tests::scheduled_program(schedule, {stages, chunks, 3 * stages},
                                                       {.forward_ns = 100, .backward_ns = 100, .weight_ns = 70});
      for (const std::int64_t send_ns : {0, 13, 300}) {
        SCOPED_TRACE(std::string(schedule.name) + " on " + std::to_string(stages) + " stages, send " +
                     std::to_string(send_ns));
        EXPECT_TRUE(both_agree(program, tests::timed_prices(program, send_ns, 20, 0), 2));
      }
    }
  }
}

// Random lanes, dependences within and across actions and steps, host operations that drain, blocking launches (hosts
// and operations that take no time, too), an input pipeline,
// collectives between roles before a send, receives in the middle of blocks.
TEST(LaneSimulation, EqualsReferenceOnRandomPrograms) {
  int finished = 0;
  constexpr int kPrograms = 800;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program program = tests::random_program(seed);
    Prices prices =
        tests::timed_prices(program, static_cast<std::int64_t>(seed % 40),
                            static_cast<std::int64_t>(seed % 7 * seed % 11), static_cast<std::int64_t>(seed % 5));
    if (seed % 3 == 0) prices.input_samples_per_ns = 0.02;
    if (both_agree(program, prices, 2 + static_cast<int>(seed % 3))) ++finished;
    if (HasFailure()) break;
  }
  EXPECT_GT(finished, kPrograms / 2);
}

// The same with transfers that share ports and slow kernels.
TEST(LaneSimulation, EqualsReferenceOnRandomProgramsThatShare) {
  int finished = 0, contended = 0;
  constexpr int kPrograms = 400;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program program = tests::random_program(seed);
    Prices prices =
        tests::timed_prices(program, static_cast<std::int64_t>(seed % 40),
                            static_cast<std::int64_t>(seed % 7 * seed % 11), static_cast<std::int64_t>(seed % 5));
    tests::add_random_loads(seed, program, prices);
    if (both_agree(program, prices, 2 + static_cast<int>(seed % 3))) {
      ++finished;
      contended += simulate_lanes(program, prices).contention_ns > 0 ? 1 : 0;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(finished, kPrograms / 2);
  EXPECT_GT(contended, finished / 2);
}

TEST(LaneSimulation, EqualsReferenceOnPlansThatShare) {
  for (const tests::SmallPlan& small : tests::sampled(tests::small_plans())) {
    SCOPED_TRACE(small.name);
    const Program program =
        strategies::build_program(tests::small_model(), tests::small_training(), small.plan, small.implementation);
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      Prices prices = tests::timed_prices(program, 700'000, 5'000, 100'000);
      tests::add_random_loads(seed, program, prices);
      EXPECT_TRUE(both_agree(program, prices, 2));
      Prices singles = tests::timed_prices(program, single_ranks(program), 700'000, 5'000, 100'000);
      tests::add_random_loads(seed, program, singles);
      expect_equal_ranks(simulate_lanes(program, prices), simulate_lanes(program, singles));
    }
    if (HasFailure()) break;
  }
}

// Two stages that each receive late what the other sends early: in program order neither could go first.
TEST(LaneSimulation, LooksAheadWhenReceivesPrecedeSends) {
  using strategies::Lane;
  Program program = tests::empty_program(1, 2, 1);
  for (int stage = 0; stage < 2; ++stage) {
    strategies::Block block;
    block.virtual_stage = stage;
    block.operations = {tests::receive_from(1 - stage, strategies::Payload::kActivation),
                        tests::timed(Lane::kCompute, 10),
                        tests::send_to(1 - stage, strategies::Payload::kActivation, {{1}}),
                        tests::timed(Lane::kCompute, 5, strategies::Phase::kForward, {{0}})};
    auto& role = program.roles[static_cast<std::size_t>(stage)];
    role.blocks.push_back(block);
    for (int microbatch = 0; microbatch < 3; ++microbatch) role.schedule.push_back({0, microbatch, {}});
  }
  const Prices prices = tests::timed_prices(program, 4, 0, 0);
  EXPECT_TRUE(both_agree(program, prices, 2));
  // Per microbatch 10 until the send, 4 in flight, 5 with what has come.
  EXPECT_EQ(simulate_lanes(program, prices).step_ns, 3 * (10 + 4 + 5));
}

TEST(LaneSimulation, ReportsAProgramThatHangs) {
  Program program = tests::empty_program(1, 2, 1);
  for (int stage = 0; stage < 2; ++stage) {
    strategies::Block block;
    block.virtual_stage = stage;
    block.operations = {tests::receive_from(1 - stage, strategies::Payload::kActivation),
                        tests::send_to(1 - stage, strategies::Payload::kActivation, {{0}})};
    program.roles[static_cast<std::size_t>(stage)].blocks.push_back(block);
    program.roles[static_cast<std::size_t>(stage)].schedule.push_back({0, 0, {}});
  }
  const Prices prices = tests::timed_prices(program, 4, 0, 0);
  EXPECT_THROW(simulate_lanes(program, prices), std::runtime_error);
  EXPECT_THROW(simulate_operations(program, prices), std::runtime_error);
}

Prices priced(const Program& program, const RankClasses& classes) {
  return tests::timed_prices(program, classes, 700'000, 5'000, 100'000);
}

// Every schedule with tensor, data and pipeline ranks and ZeRO-1; with and without a slow rank.
TEST(LaneSimulation, FoldedEqualsUnfoldedToTheNanosecond) {
  for (const tests::SmallPlan& small : tests::sampled(tests::small_plans())) {
    SCOPED_TRACE(small.name);
    const Program program =
        strategies::build_program(tests::small_model(), tests::small_training(), small.plan, small.implementation);
    const StepResult unfolded = simulate_lanes(program, priced(program, single_ranks(program)));
    expect_equal_ranks(simulate_lanes(program, priced(program, classes_by_role(program))), unfolded);
    expect_equal_ranks(simulate_operations(program, priced(program, single_ranks(program))), unfolded);
    for (const int slow : {0, program.ranks() - 1}) {
      const RankClasses singles = single_ranks(program, {SlowGpu{strategies::Rank{slow}, 0.8}});
      const RankClasses classes = folded(program, singles, std::vector<std::uint32_t>(singles.size(), 0));
      const StepResult held_up = simulate_lanes(program, priced(program, singles));
      expect_equal_ranks(simulate_lanes(program, priced(program, classes)), held_up);
      expect_equal_ranks(simulate_operations(program, priced(program, singles)), held_up);
      EXPECT_GT(held_up.step_ns, unfolded.step_ns);
    }
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace sim
