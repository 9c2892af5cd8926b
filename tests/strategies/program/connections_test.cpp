#include "strategies/program/connections.h"

#include <gtest/gtest.h>

#include "tests/programs/handmade.h"

namespace strategies {
namespace {

TEST(Connections, PairsOfRolesThatExchangeMessages) {
  const std::vector<RolePair> of_pipeline = {{0, 1}, {1, 0}, {1, 2}, {2, 1}};
  EXPECT_EQ(communicating_roles(tests::pipeline(3, 2)), of_pipeline);
  // Roles 0, 1 are stage 0 of the replicas, 2, 3 stage 1: no message crosses replicas.
  const std::vector<RolePair> of_replicas = {{0, 2}, {1, 3}, {2, 0}, {3, 1}};
  EXPECT_EQ(communicating_roles(tests::unequal_replicas()), of_replicas);
  EXPECT_TRUE(communicating_roles(tests::data_parallel()).empty());
}

TEST(Connections, MessagesInProgramOrder) {
  const Program program = tests::pipeline(2, 2);
  const std::vector<Message> sent = sends(program, 1);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1].identity(), std::tuple(1, 1, 0, Payload::kGradient));
  EXPECT_EQ(sent[1].action, 3U);
  EXPECT_EQ(sent[1].bytes, 2'000'000);
  const std::vector<Message> received = receives(program, 0);
  ASSERT_EQ(received.size(), 2U);
  EXPECT_EQ(received[1].identity(), sent[1].identity());
}

TEST(Connections, PartnersShareGroupsDirectlyOrThroughOthers) {
  EXPECT_EQ(group_partners(tests::pipeline(4, 1), GroupId{0}), (std::vector<std::uint32_t>{0, 1, 2, 0}));
  EXPECT_EQ(group_partners(tests::unequal_replicas(), GroupId{0}), (std::vector<std::uint32_t>{0, 0, 2, 2}));
  Program chain = tests::data_parallel();  // groups {0, 1} and {2, 3} with roles 0 1 and 1 2
  chain.views = {Mesh{{{"dp", 2}, {"tp", 2}}}};
  chain.roles.resize(3, chain.roles[0]);
  chain.role_of_rank = {0, 1, 1, 2};
  EXPECT_EQ(group_partners(chain, GroupId{0}), (std::vector<std::uint32_t>{0, 0, 0}));
}

TEST(Connections, FlatNumbersAndBack) {
  const Program program = tests::pipeline(2, 1);  // stage 0: F of 2, BW of 2, U of 3
  const StepOperations operations(program);
  EXPECT_EQ(operations.count(0), 7U);
  EXPECT_EQ(operations.flat(0, 2, 1), 5U);
  for (std::uint32_t flat = 0; flat < 7; ++flat) {
    const auto [action, operation] = operations.at(0, flat);
    EXPECT_EQ(operations.flat(0, action, operation), flat);
  }
}

TEST(Connections, DeliveriesJoinSendAndReceive) {
  const Program program = tests::pipeline(2, 1);
  // Stage 0: 0 F, 1 send, 2 receive, 3 BW, ...; stage 1: 0 receive, 1 F, 2 BW, 3 send, ...
  const std::vector<Delivery> expected = {{0, 1, 1, 0}, {1, 3, 0, 2}};
  EXPECT_EQ(deliveries(program, StepOperations(program)), expected);
}

TEST(Connections, MeetingsJoinTheCollectivesOfAGroup) {
  const Program program = tests::pipeline(3, 1);
  const Meetings meetings(program, StepOperations(program));
  EXPECT_EQ(meetings.roles, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(meetings.of[0][4], 0U);  // stage 0: F, send, receive, BW, all-reduce
  EXPECT_EQ(meetings.of[2][4], 0U);  // stage 2: receive, F, BW, send, all-reduce
  EXPECT_EQ(meetings.of[0][0], Meetings::kNone);
}

}  // namespace
}  // namespace strategies
