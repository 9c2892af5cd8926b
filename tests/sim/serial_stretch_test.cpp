#include "sim/serial_stretch.h"

#include <gtest/gtest.h>

#include "sim/lane_tables.h"
#include "sim/step_simulation.h"
#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using strategies::HostReason;
using strategies::Lane;
using strategies::Operation;
using strategies::Program;

constexpr std::int64_t kIssue = 3, kHost = 5;

strategies::Block awaited(const std::vector<Operation>& works) {
  strategies::Block block;
  for (const Operation& work : works) {
    block.operations.push_back(work);
    const auto id = static_cast<std::uint32_t>(block.operations.size() - 1);
    block.operations.push_back(tests::host_operation(HostReason::kBlockingLaunch, 0, {{id}}));
  }
  return block;
}

/// A step calls the block once, alone.
Program calls_once(const strategies::Block& block) {
  Program program = tests::empty_program(2, 1, 1);
  program.roles[0].blocks = {block};
  program.roles[0].schedule = {{0, 0, {}}};
  return program;
}

std::vector<SerialStretch> stretches_of(const Program& program, std::int64_t issue_ns, std::int64_t host_ns) {
  const Prices prices = tests::timed_prices(program, 0, issue_ns, host_ns);
  return FlatProcess(program, 0, prices, Rendezvous(program, prices)).blocks[0].stretches;
}

std::int64_t spent_on(const Breakdown& breakdown, TimeKind kind) { return breakdown[static_cast<std::size_t>(kind)]; }

// Per pair 3 to issue, the work, 5 of the host.
TEST(SerialStretch, AddsUp) {
  const Program program = calls_once(
      awaited({tests::timed(Lane::kTensor, 7), tests::timed(Lane::kCompute, 10), tests::timed(Lane::kTensor, 20),
               tests::timed(Lane::kCompute, 40, strategies::Phase::kUpdate), tests::timed(Lane::kData, 80)}));
  const std::vector<SerialStretch> stretches = stretches_of(program, kIssue, kHost);
  ASSERT_EQ(stretches.size(), 1);
  const SerialStretch& stretch = stretches[0];
  EXPECT_EQ(stretch.first, 0);
  EXPECT_EQ(stretch.last, 10);
  EXPECT_EQ(stretch.from, 2);
  EXPECT_EQ(stretch.to, 6);
  EXPECT_EQ(stretch.duration_ns, 5 + 3 + 20 + 5 + 3 + 40);
  EXPECT_EQ(spent_on(stretch.spent, TimeKind::kHost), 2 * (5 + 3));
  EXPECT_EQ(spent_on(stretch.spent, TimeKind::kExposedTensor), 20);
  EXPECT_EQ(spent_on(stretch.spent, TimeKind::kOptimizer), 40);
  EXPECT_EQ(spent_on(stretch.spent, TimeKind::kCompute), 0);
  EXPECT_EQ(stretch.passed[static_cast<std::size_t>(Lane::kHost)], 5);
  EXPECT_EQ(stretch.passed[static_cast<std::size_t>(Lane::kTensor)], 2);
  EXPECT_TRUE(stretch.outlived.empty());
  const StepResult result = simulate_lanes(program, tests::timed_prices(program, 0, kIssue, kHost));
  EXPECT_EQ(result.step_ns, 5 * (kIssue + kHost) + 7 + 10 + 20 + 40 + 80);
}

// What it leaves behind for later operations: the ends of those that are named.
TEST(SerialStretch, KeepsTheEndsThatOthersName) {
  Program program = calls_once(
      awaited({tests::timed(Lane::kCompute, 10), tests::timed(Lane::kTensor, 20), tests::timed(Lane::kCompute, 40)}));
  program.roles[0].schedule = {{0, 0, {}}, {0, 1, {{0, 0, {2}, {0}}}}};
  const std::vector<SerialStretch> stretches = stretches_of(program, kIssue, kHost);
  ASSERT_EQ(stretches.size(), 1);
  ASSERT_EQ(stretches[0].outlived.size(), 1);
  EXPECT_EQ(stretches[0].outlived[0].end_ns, 5 + 3 + 20);
}

// Not awaited, without duration; or the host goes on at the very moment the work ends.
TEST(SerialStretch, EndsWhereSomethingElseMayBind) {
  strategies::Block block = awaited({tests::timed(Lane::kCompute, 10), tests::timed(Lane::kCompute, 10)});
  block.operations.push_back(tests::timed(Lane::kData, 30));
  const strategies::Block rest = awaited({tests::timed(Lane::kCompute, 10)});
  for (Operation each : rest.operations) {
    for (strategies::OperationId& earlier : each.after) earlier.value += 5;
    block.operations.push_back(each);
  }
  const std::vector<SerialStretch> two = stretches_of(calls_once(block), kIssue, kHost);
  ASSERT_EQ(two.size(), 2);
  EXPECT_EQ(two[0].last, 4);
  EXPECT_EQ(two[1].first, 5);
  EXPECT_EQ(stretches_of(calls_once(block), 0, 0).size(), 3);

  const strategies::Block nothing = awaited({tests::timed(Lane::kCompute, 0), tests::timed(Lane::kCompute, 10)});
  ASSERT_EQ(stretches_of(calls_once(nothing), kIssue, kHost).size(), 1);
  EXPECT_EQ(stretches_of(calls_once(nothing), kIssue, kHost)[0].first, 2);
}

}  // namespace
}  // namespace sim
