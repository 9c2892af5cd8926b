#include "sim/breakdown.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "tests/sim/step_programs.h"

namespace sim {
namespace {

using strategies::Lane;
using strategies::Phase;

std::int64_t of(const Breakdown& breakdown, TimeKind kind) { return breakdown[static_cast<std::size_t>(kind)]; }

std::int64_t sum(const Breakdown& breakdown) {
  return std::accumulate(breakdown.begin(), breakdown.end(), std::int64_t{0});
}

TEST(Breakdown, NamesAreTheKeysOfTheJsonContract) {
  const char* const expected[] = {"compute",        "recompute",    "optimizer",        "host",
                                  "exposed_tensor", "exposed_data", "exposed_pipeline", "exposed_context",
                                  "exposed_expert", "bubble",       "imbalance",        "straggler",
                                  "data_stall",     "other"};
  for (int kind = 0; kind < kTimeKinds; ++kind) {
    EXPECT_STREQ(name(static_cast<TimeKind>(kind)), expected[kind]);
  }
}

TEST(Breakdown, OperationsInProgressHaveTheKindOfTheirLaneOrPhase) {
  const std::pair<Lane, TimeKind> lanes[] = {
      {Lane::kTensor, TimeKind::kExposedTensor},    {Lane::kData, TimeKind::kExposedData},
      {Lane::kGather, TimeKind::kExposedData},      {Lane::kContext, TimeKind::kExposedContext},
      {Lane::kExpert, TimeKind::kExposedExpert},    {Lane::kStorage, TimeKind::kOther},
      {Lane::kSendNext, TimeKind::kExposedPipeline}};
  for (const auto& [lane, kind] : lanes) EXPECT_EQ(running_kind(tests::timed(lane, 1)), kind) << name(lane);
  const std::pair<Phase, TimeKind> phases[] = {{Phase::kForward, TimeKind::kCompute},
                                               {Phase::kRecompute, TimeKind::kRecompute},
                                               {Phase::kBackward, TimeKind::kCompute},
                                               {Phase::kWeightGradient, TimeKind::kCompute},
                                               {Phase::kUpdate, TimeKind::kOptimizer}};
  for (const auto& [phase, kind] : phases) EXPECT_EQ(running_kind(tests::timed(Lane::kCompute, 1, phase)), kind);
  EXPECT_EQ(running_kind(tests::host_operation(strategies::HostReason::kStepOverhead)), TimeKind::kHost);
}

// A gap [10, 40): the binding collective ran in [30, 40); before, in [5, 30), another one did.
TEST(Ledger, IdleTimeGoesBackAlongWhatBound) {
  Ledger ledger;
  const Cause first = ledger.book({5, 5, 30, TimeKind::kOther, TimeKind::kExposedData}, kNoCause, false, true);
  const Cause second = ledger.book({30, 30, 40, TimeKind::kOther, TimeKind::kExposedTensor}, first, false, true);
  ledger.book({0, 0, 10, TimeKind::kOther, TimeKind::kCompute}, kNoCause, true, true);
  ledger.book({40, 40, 47, TimeKind::kOther, TimeKind::kCompute}, second, true, true);
  EXPECT_EQ(of(ledger.spent(), TimeKind::kCompute), 17);
  EXPECT_EQ(of(ledger.spent(), TimeKind::kExposedTensor), 10);
  EXPECT_EQ(of(ledger.spent(), TimeKind::kExposedData), 20);
  EXPECT_EQ(sum(ledger.spent()), 47);
}

// A receive ready at 3 whose message was sent at 12 and arrived at 20; the compute lane was free from 8.
TEST(Ledger, AMessageIsABubbleUntilItIsSent) {
  Ledger ledger;
  ledger.book({0, 0, 8, TimeKind::kOther, TimeKind::kCompute}, kNoCause, true, true);
  const Cause message = ledger.book({3, 12, 20, TimeKind::kBubble, TimeKind::kExposedPipeline}, kNoCause, false, true);
  ledger.book({20, 20, 21, TimeKind::kOther, TimeKind::kCompute}, message, true, true);
  EXPECT_EQ(of(ledger.spent(), TimeKind::kBubble), 4);
  EXPECT_EQ(of(ledger.spent(), TimeKind::kExposedPipeline), 8);
}

// A kernel of 10 slowed to 14; then the compute lane waits until 40 for a collective begun at 12 that alone would have
// ended at 33.
TEST(Ledger, ContentionIsTimeBeyondTheTimeAlone) {
  Ledger ledger;
  ledger.book({0, 0, 14, TimeKind::kOther, TimeKind::kCompute, 4}, kNoCause, true, true);
  const Cause late = ledger.book({12, 12, 40, TimeKind::kOther, TimeKind::kExposedData, 7}, kNoCause, false, true);
  ledger.book({40, 40, 41, TimeKind::kOther, TimeKind::kCompute}, late, true, true);
  EXPECT_EQ(of(ledger.spent(), TimeKind::kCompute), 15);
  EXPECT_EQ(of(ledger.spent(), TimeKind::kExposedData), 26);
  EXPECT_EQ(ledger.contention(), 4 + 7);
}

ClassObservation observation(std::int64_t before, std::int64_t last, std::int64_t compute, std::int64_t bubble) {
  ClassObservation role;
  role.step_end = {before, last};
  role.spent[static_cast<std::size_t>(TimeKind::kCompute)] = compute;
  role.spent[static_cast<std::size_t>(TimeKind::kBubble)] = bubble;
  return role;
}

TEST(StepResult, BreakdownsSumToTheStepAlsoOutsideTheSteadyState) {
  const strategies::Program program = tests::empty_program(3, 3, 1);
  // The step takes 200 - 90; the windows of the roles are 110, 100 and 130 long.
  const std::vector<ClassObservation> roles{observation(90, 200, 100, 10), observation(80, 180, 100, 0),
                                            observation(60, 190, 115, 15)};
  const StepResult result = step_result(classes_by_role(program), roles);
  EXPECT_EQ(result.step_ns, 110);
  for (const ClassResult& role : result.of_class) EXPECT_EQ(sum(role.breakdown), 110);
  // The first two work 100, the third all 110: their waiting is imbalance.
  EXPECT_EQ(of(result.of_class[0].breakdown, TimeKind::kImbalance), 10);
  EXPECT_EQ(of(result.of_class[1].breakdown, TimeKind::kImbalance), 10);
  EXPECT_EQ(of(result.of_class[0].breakdown, TimeKind::kBubble), 0);
  EXPECT_EQ(of(result.of_class[2].breakdown, TimeKind::kBubble), 0);
  EXPECT_EQ(of(result.of_class[2].breakdown, TimeKind::kOther), -5);  // more computing than the step is long
  EXPECT_EQ(result.of_class[2].step_end_ns, 190);
}

TEST(StepResult, MeanWeighsRolesByTheirRanksAndSumsExactly) {
  strategies::Program program = tests::empty_program(1, 2, 1);
  program.role_of_rank = {0, 1, 1};
  const std::vector<ClassObservation> roles{observation(0, 100, 100, 0), observation(0, 100, 50, 50)};
  const StepResult result = step_result(classes_by_role(program), roles);
  EXPECT_EQ(of(result.mean, TimeKind::kCompute), 66);    // 200 / 3
  EXPECT_EQ(of(result.mean, TimeKind::kImbalance), 34);  // 100 / 3, rounded so that both sum to 100
  EXPECT_EQ(sum(result.mean), 100);
}

// A stage without samples: those behind it starve with it. What they lack beyond that is bubble and imbalance.
TEST(StepResult, StagesBehindAStarvedOneStarve) {
  const strategies::Program program = tests::empty_program(1, 2, 1);
  ClassObservation first = observation(0, 100, 40, 0);
  first.spent[static_cast<std::size_t>(TimeKind::kDataStall)] = 60;
  const StepResult result =
      step_result(classes_by_role(program), std::vector<ClassObservation>{first, observation(0, 100, 30, 70)});
  EXPECT_EQ(of(result.of_class[1].breakdown, TimeKind::kDataStall), 60);
  EXPECT_EQ(of(result.of_class[1].breakdown, TimeKind::kImbalance), 10);
  EXPECT_EQ(of(result.of_class[1].breakdown, TimeKind::kBubble), 0);
}

TEST(StepResult, MeanOfManyRanksOverALongStepDoesNotOverflow) {
  strategies::Program program = tests::empty_program(1, 2, 1);
  program.role_of_rank.assign(1'000'001, 0);
  program.role_of_rank.back() = 1;
  constexpr std::int64_t kStep = 400'000'000'000'000;  // 111 hours
  const std::vector<ClassObservation> roles{observation(0, kStep, kStep, 0), observation(0, kStep, kStep, 0)};
  EXPECT_EQ(of(step_result(classes_by_role(program), roles).mean, TimeKind::kCompute), kStep);
}

// The slow class computes 100 at half speed: at full speed its work were 50, and the busiest one 70. Of the 60 that
// the other lacks to 100, 30 lie above that: they are the slow one's. The third one waits for its twin in a collective.
TEST(StepResult, WaitingBeyondTheBusiestSoundRankIsForTheStraggler) {
  const strategies::Program program = tests::empty_program(1, 4, 1);
  RankClasses classes = classes_by_role(program);
  classes.all[0].speed = 0.5;
  ClassObservation third = observation(0, 100, 30, 0);
  third.spent[static_cast<std::size_t>(TimeKind::kStraggler)] = 70;
  const StepResult result =
      step_result(classes, std::vector<ClassObservation>{observation(0, 100, 100, 0), observation(0, 100, 40, 60),
                                                         third, observation(0, 100, 70, 30)});
  const std::int64_t straggler[] = {0, 30, 70, 30}, imbalance[] = {0, 30, 0, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(of(result.of_class[i].breakdown, TimeKind::kStraggler), straggler[i]);
    EXPECT_EQ(of(result.of_class[i].breakdown, TimeKind::kImbalance), imbalance[i]);
    EXPECT_EQ(of(result.of_class[i].breakdown, TimeKind::kBubble), 0);
    EXPECT_EQ(sum(result.of_class[i].breakdown), 100);
  }
}

}  // namespace
}  // namespace sim
