#include "strategies/collectives/symbolic_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace strategies {
namespace {

using enum ExchangeKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Steps = std::vector<std::vector<Step>>;

constexpr Slice kWhole{};
constexpr Slice kHalves[] = {{StepBuffer::kResult, 0, 1, 2, 1, 0}, {StepBuffer::kResult, 1, 2, 2, 1, 0}};

Step send(int peer, const Slice& slice = kWhole, int lane = 0) {
  return {StepKind::kSend, 0, lane, peer, 0, slice, {}};
}
Step receive(int peer, const Slice& slice = kWhole, int lane = 0) {
  return {StepKind::kReceive, 0, lane, peer, 0, slice, {}};
}
Step reduce(int peer, const Slice& slice = kWhole) { return {StepKind::kReduce, 0, 0, peer, 0, slice, {}}; }

std::vector<std::string> findings(const Exchange& exchange, const Steps& steps, const SymbolicOptions& options = {}) {
  const GroupDomains pair = GroupDomains::consecutive(2, 2);
  Steps all = steps;
  all.resize(static_cast<std::size_t>(pair.members()));
  return run_symbolically(exchange, pair, all, options).findings;
}

TEST(SymbolicRun, ProvesACorrectExchange) {
  EXPECT_THAT(findings({kAllReduce}, {{send(1), reduce(1)}, {send(0), reduce(0)}}), IsEmpty());
}

TEST(SymbolicRun, FindsAContributionCountedTwice) {
  EXPECT_THAT(findings({kAllReduce}, {{send(1), reduce(1), send(1)}, {send(0), reduce(0), reduce(0)}}),
              ElementsAre("rank 1: 0.0 reduce [0,1)/1 from rank 0 adds value 0 of ranks 0 1 to value 0 of ranks 0 1"));
}

TEST(SymbolicRun, FindsAMissingContribution) {
  EXPECT_THAT(findings({kReduce, 1}, {{}, {}}),
              ElementsAre("rank 1 ends with value 0 of ranks 1 in part 0 of 2, not value 0 of ranks 0 1",
                          "rank 1 ends with value 1 of ranks 1 in part 1 of 2, not value 1 of ranks 0 1"));
}

TEST(SymbolicRun, FindsAValueInTheWrongPlace) {
  EXPECT_THAT(findings({kReduce, 1}, {{send(1, kHalves[0])}, {reduce(0, kHalves[1])}}),
              ElementsAre("rank 1: 0.0 reduce [1,2)/2 from rank 0 adds value 0 of ranks 0 to value 1 of ranks 1"));
  EXPECT_THAT(findings({kBroadcast},
                       {{send(1, kHalves[0]), send(1, kHalves[1])}, {receive(0, kHalves[1]), receive(0, kHalves[0])}}),
              SizeIs(2));
}

TEST(SymbolicRun, FindsAReductionOntoNothing) {
  EXPECT_THAT(findings({kBroadcast}, {{send(1)}, {reduce(0)}}),
              ElementsAre("rank 1: 0.0 reduce [0,1)/1 from rank 0 adds value 0 of ranks 0 to nothing"));
}

TEST(SymbolicRun, FindsMessagesWithoutReceiveAndReceivesWithoutMessage) {
  EXPECT_THAT(findings({kBroadcast}, {{send(1), send(1)}, {receive(0)}}),
              ElementsAre("rank 1 never receives a message of rank 0 on channel 0"));
  EXPECT_THAT(findings({kBroadcast}, {{send(1)}, {receive(0), receive(0)}}),
              ElementsAre("rank 1 waits for ever: 0.0 receive [0,1)/1 from rank 0"));
}

TEST(SymbolicRun, FindsMessagesOfAnotherSize) {
  EXPECT_THAT(findings({kBroadcast}, {{send(1)}, {receive(0, kHalves[0])}}),
              ElementsAre("rank 1: 0.0 receive [0,1)/2 from rank 0 gets 2 parts for 1"));
}

TEST(SymbolicRun, FindsDeadlocksAndDependsOnSlots) {
  // Both send twice before they receive.
  const Steps eager = {{send(1, kHalves[0]), send(1, kHalves[1]), reduce(1, kHalves[0]), reduce(1, kHalves[1])},
                       {send(0, kHalves[0]), send(0, kHalves[1]), reduce(0, kHalves[0]), reduce(0, kHalves[1])}};
  EXPECT_THAT(findings({kAllReduce}, eager, {.slots = 2}), IsEmpty());
  EXPECT_THAT(findings({kAllReduce}, eager, {.slots = 1}),
              ElementsAre(HasSubstr("rank 0 waits for ever: 0.0 send"), HasSubstr("rank 1 waits for ever: 0.0 send"),
                          HasSubstr("never receives"), HasSubstr("never receives"), HasSubstr("ends with"),
                          HasSubstr("ends with"), HasSubstr("ends with"), HasSubstr("ends with")));
}

// Lane 1 of rank 0 overwrites what lane 0 sends, and no message orders them: right in one order, wrong in the other.
TEST(SymbolicRun, TheReversedOrderFindsRacingLanes) {
  const Steps racing = {{send(1, kWhole, 0), receive(1, kWhole, 1)}, {send(0, kWhole, 1), reduce(0)}};
  EXPECT_THAT(findings({kReduce, 1}, racing), IsEmpty());
  EXPECT_THAT(findings({kReduce, 1}, racing, {.slots = 8, .reversed = true}),
              ElementsAre(HasSubstr("adds value 0 of ranks 1 to value 0 of ranks 1")));
}

TEST(SymbolicRun, FindsConnectionsSharedByLanes) {
  EXPECT_THAT(findings({kBroadcast}, {{send(1, kHalves[0], 0), send(1, kHalves[1], 1)},
                                      {receive(0, kHalves[0]), receive(0, kHalves[1])}}),
              ElementsAre("rank 0 uses a connection on two lanes: 0.1 send [1,2)/2 to rank 1"));
  Step second = send(1, kHalves[1], 1), its_receive = receive(0, kHalves[1]);
  second.connection = its_receive.connection = 1;
  EXPECT_THAT(findings({kBroadcast}, {{send(1, kHalves[0], 0), second}, {its_receive, receive(0, kHalves[0])}}),
              IsEmpty());
}

TEST(SymbolicRun, RefusesImpossibleSlicesAndPeers) {
  EXPECT_THAT(findings({kBroadcast}, {{send(9)}, {}}),
              ElementsAre("impossible slice or peer: 0.0 send [0,1)/1 to member 9"));
  for (const Slice& slice : {Slice{StepBuffer::kResult, 1, 1, 2, 1, 0}, Slice{StepBuffer::kResult, 0, 3, 2, 1, 0},
                             Slice{StepBuffer::kResult, -1, 1, 2, 1, 0}, Slice{StepBuffer::kResult, 0, 1, 0, 1, 0},
                             Slice{StepBuffer::kResult, 0, 1, 2, 0, 0}, Slice{StepBuffer::kResult, 0, 1, 2, 2, 0},
                             Slice{StepBuffer::kResult, 0, 1, 4, 3, 2}, Slice{StepBuffer::kResult, 1, 3, 4, 2, 2}}) {
    EXPECT_THAT(findings({kBroadcast}, {{send(1, slice)}, {}}), ElementsAre(HasSubstr("impossible slice")))
        << slice.begin;
  }
}

TEST(SymbolicRun, CountsTheLongestChainOfMessages) {
  // 0 -> 1 -> 2 while 0 -> 2 goes straight; 2 is in another domain.
  const GroupDomains group({0, 0, 1});
  Steps steps = {{send(1), send(2)}, {receive(0), send(2)}, {receive(0), receive(1)}};
  steps.resize(static_cast<std::size_t>(group.members()));
  const SymbolicResult run = run_symbolically({kBroadcast}, group, steps);
  EXPECT_THAT(run.findings, IsEmpty());
  EXPECT_EQ(run.hops, 2);
  EXPECT_EQ(run.far_hops, 1);
  EXPECT_EQ(run.parts, 3);
  EXPECT_EQ(run.traffic[0].sent, 6);
  EXPECT_EQ(run.traffic[0].sent_far, 3);
  EXPECT_EQ(run.traffic[0].messages, 2);
  EXPECT_EQ(run.traffic[2].received, 6);
}

TEST(SymbolicRun, RefusesMoreRanksThanItCounts) {
  const GroupDomains group = GroupDomains::consecutive(kMaxSymbolicRanks + 1, 8);
  EXPECT_THROW(run_symbolically({kBroadcast}, group, {}), std::invalid_argument);
}

}  // namespace
}  // namespace strategies
