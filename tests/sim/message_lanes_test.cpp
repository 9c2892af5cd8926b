#include "sim/message_lanes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "tests/sim/network_clusters.h"

namespace sim {
namespace {

using enum strategies::ExchangeKind;
using hw_models::Cluster;
using strategies::Exchange;

std::int64_t bytes_sent(const MessageLanes& lanes) {
  std::int64_t sum = 0;
  for (const MessageStep& step : lanes.steps()) sum += step.sends() ? lanes.size(step.size).value() : 0;
  return sum;
}

TEST(MessageLanes, HoldTheBytesThatTheAlgorithmsSend) {
  struct Case {
    const char* algorithm;
    strategies::ExchangeKind kind;
    int nodes, channels, slices;
    std::int64_t bytes, sent;  ///< by all members
  };
  const std::vector<Case> cases = {
      {"ring", kAllReduce, 1, 1, 1, 8'000, 2 * 7 * 8'000},
      {"ring", kAllReduce, 2, 4, 3, 16 * 12, 2 * 15 * 16 * 12},
      {"ring", kAllReduce, 1, 1, 1, 1, 2 * 7 * 8},          // every block is rounded up to a byte
      {"ring", kAllReduce, 1, 1, 1, 8'001, 2 * 7 * 8'008},  // 1,001 each
      {"tree", kAllReduce, 2, 1, 1, 1'000, 2 * 15 * 1'000},
      {"direct", kAllToAll, 1, 1, 1, 8'000, 7 * 8'000},
      {"nvls", kAllReduce, 1, 1, 1, 8'000, 2 * (8 * 8'000 + 8'000)},  // up and down: S and S/n each
      {"pxn", kAllToAll, 2, 1, 1, 16'000, 8 * 16'000 + 2 * 7 * 16'000},
      {"ring", kAllReduce, 1, 1, 1, 0, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.algorithm << ' ' << c.bytes);
    const Cluster cluster(dgx_h100(c.nodes));
    const Exchange exchange{c.kind, 0, 0, c.channels, c.slices};
    const GroupCollective one = group_collective(c.algorithm, exchange, c.bytes, gpu_range(0, cluster.gpus()));
    EXPECT_EQ(bytes_sent(MessageLanes(cluster, {&one, 1})), c.sent);
  }
}

TEST(MessageLanes, EveryLaneHasItsStepsInOrder) {
  const Cluster cluster(dgx_h100(2));
  const GroupCollective ring =
      group_collective("ring", {kAllReduce, 0, 0, 2, 3}, 1 << 20, gpu_range(0, cluster.gpus()));
  const MessageLanes lanes(cluster, {&ring, 1});
  ASSERT_EQ(lanes.lanes().size(), 16U * 2);
  ASSERT_EQ(lanes.connections().size(), 16U * 2);
  EXPECT_EQ(lanes.steps().size(), 16U * 2 * 3 * 2 * (2 * 15));
  std::size_t next = 0;
  for (const MessageLanes::Lane& lane : lanes.lanes()) {
    EXPECT_EQ(lane.first, next);
    next = lane.last;
    EXPECT_TRUE(lanes.steps()[lane.first].sends());
    EXPECT_FALSE(lanes.steps()[lane.last - 1].sends());
  }
  EXPECT_EQ(next, lanes.steps().size());
}

TEST(MessageLanes, RefuseWhatCannotRun) {
  const Cluster cluster(dgx_h100(2));
  static constexpr std::array kServed = {kAllReduce};
  const strategies::CollectiveAlgorithm two_lanes{
      .name = "two lanes",
      .summary = "",
      .source = "",
      .serves = kServed,
      .needs = {},
      .steps = [](const Exchange&, const strategies::GroupDomains&, int member) {
        std::vector<strategies::Step> steps;
        if (member == 0)
          steps = {{strategies::StepKind::kSend, 0, 0, 1, 0, {}, {}},
                   {strategies::StepKind::kSend, 0, 1, 1, 0, {}, {}}};
        return steps;
      }};
  const std::vector<GroupCollective> cases = {
      group_collective("ring", {}, 1'000, {0, 1, 0}),
      group_collective("ring", {}, 1'000, {0, 16}),
      group_collective("ring", {}, 1'000, {}),
      group_collective("ring", {}, -1, {0, 1}),
      group_collective("ring", {kAllToAll}, 1'000, {0, 1}),
      group_collective("nvls", {}, 1'000, {0, 8}),
      {nullptr, {}, hw_models::Bytes(1), {0, 1}},
      {&two_lanes, {}, hw_models::Bytes(1), {0, 1}},
  };
  for (const GroupCollective& c : cases) EXPECT_THROW(MessageLanes(cluster, {&c, 1}), std::invalid_argument);

  hw_models::ClusterSpec meshed = dgx_h100(1);
  meshed.node.scale_up = hw_models::ScaleUpKind::kMesh;
  meshed.node.pair_bandwidth = hw_models::BytesPerSecond(64e9);
  const GroupCollective nvls = group_collective("nvls", {}, 1'000, {0, 1});
  EXPECT_THROW(MessageLanes(Cluster(meshed), {&nvls, 1}), std::invalid_argument);
}

}  // namespace
}  // namespace sim
