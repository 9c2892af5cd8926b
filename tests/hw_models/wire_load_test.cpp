#include "hw_models/wire_load.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

constexpr std::int64_t kBig = 10'000'000'000;

GroupLayout layout_of(const Cluster& cluster, const std::vector<std::vector<int>>& family) {
  return Network(cluster).layouts(family).front();
}

// Eight GPUs behind a switch, 0.8 x 450 GB/s each: an all-reduce sends 2 x 7/8 of the buffer, nothing leaves the node.
TEST(WireLoad, InsideADomainOnlyTheScaleUpPortIsLoaded) {
  const Cluster cluster(examples::dgx_h100(1));
  const GroupLayout layout = layout_of(cluster, {{0, 1, 2, 3, 4, 5, 6, 7}});
  const WireLoad load = collective_load(Operation::kAllReduce, Bytes(kBig), layout, cluster.spec());
  EXPECT_NEAR(load.at(Port::kScaleUpOut).value(), 1.75 * 10 / 360, 1e-9);
  EXPECT_EQ(load.at(Port::kScaleUpIn), load.at(Port::kScaleUpOut));
  EXPECT_EQ(load.at(Port::kNicOut), Seconds(0));
  EXPECT_EQ(load.at(Port::kPcieOut), Seconds(0));
  EXPECT_EQ(load.channels, 24);
  EXPECT_NEAR(load.memory_bytes, 3 * 1.75e10, 1);
}

// A rank of each of two nodes with a NIC of its own (50 GB/s): all-gather, half the result crosses. Two channels.
TEST(WireLoad, BetweenNodesTheNicAndItsSlotAreLoaded) {
  const Cluster cluster(examples::dgx_h100(2));
  std::vector<std::vector<int>> family;
  for (int gpu = 0; gpu < 8; ++gpu) family.push_back({gpu, gpu + 8});
  const GroupLayout layout = layout_of(cluster, family);
  const WireLoad load = collective_load(Operation::kAllGather, Bytes(kBig), layout, cluster.spec());
  EXPECT_NEAR(load.at(Port::kNicOut).value(), 5 / 50.0, 1e-9);
  EXPECT_NEAR(load.at(Port::kPcieIn).value(), 5e9 / cluster.spec().node.pcie_bandwidth.value(), 1e-9);
  EXPECT_EQ(load.at(Port::kScaleUpOut), Seconds(0));
  EXPECT_EQ(load.channels, 2);
}

// The family over whole nodes has all NICs: 16 channels, as NCCL's log of such a job says.
TEST(WireLoad, AGroupOverWholeNodesLoadsBoth) {
  const Cluster cluster(examples::dgx_h100(2));
  std::vector<int> all;
  for (int gpu = 0; gpu < 16; ++gpu) all.push_back(gpu);
  const WireLoad load =
      collective_load(Operation::kReduceScatter, Bytes(kBig), layout_of(cluster, {all}), cluster.spec());
  EXPECT_NEAR(load.at(Port::kNicOut).value(), 15.0 / 16 * 10 / 400, 1e-9);
  EXPECT_NEAR(load.at(Port::kScaleUpOut).value(), 15.0 / 16 * 7 / 8 * 10 / 360, 1e-9);
  EXPECT_EQ(load.channels, 16);
}

// Not the 50 to 140 times too little of a model in which every member of an all-to-all has a NIC to itself: with one
// NIC for a node's eight GPUs it is loaded eight times as long.
TEST(WireLoad, AnAllToAllSharesItsNics) {
  ClusterSpec spec = examples::dgx_h100(2);
  std::vector<int> all;
  for (int gpu = 0; gpu < 16; ++gpu) all.push_back(gpu);
  const auto nic_seconds = [&](int nics) {
    spec.node.nics = nics;
    const Cluster cluster(spec);
    return collective_load(Operation::kAllToAll, Bytes(kBig), layout_of(cluster, {all}), spec)
        .at(Port::kNicOut)
        .value();
  };
  EXPECT_NEAR(nic_seconds(8), 10.0 / 16 * 8 / 50, 1e-9);
  EXPECT_NEAR(nic_seconds(1), 8 * nic_seconds(8), 1e-9);
}

// One neighbour is on the own node, the other on the next: each port carries the whole buffer.
TEST(WireLoad, ARingOfMessagesLoadsBothWays) {
  const hw_models::ClusterSpec spec = examples::dgx_h100(2);
  const Cluster cluster(spec);
  const auto load = [&](std::vector<int> group) {
    return collective_load(Operation::kSendReceive, Bytes(kBig), layout_of(cluster, {std::move(group)}), spec);
  };
  const WireLoad near = load({0, 1, 2, 3});
  EXPECT_NEAR(near.at(Port::kScaleUpOut).value(), 10.0 / 360, 1e-9);
  EXPECT_EQ(near.at(Port::kNicOut), Seconds(0));
  const WireLoad far = load({2, 10});
  EXPECT_NEAR(far.at(Port::kNicOut).value(), 10 / 50.0, 1e-9);
  EXPECT_EQ(far.at(Port::kScaleUpOut), Seconds(0));
  const WireLoad both = load({0, 1, 8, 9});
  EXPECT_NEAR(both.at(Port::kScaleUpIn).value(), 10.0 / 360, 1e-9);
  EXPECT_NEAR(both.at(Port::kNicIn).value(), 10 / 50.0, 1e-9);
}

// No collective can be faster than its bytes through its fullest port.
TEST(WireLoad, APortIsNeverBusyLongerThanTheCollectiveTakes) {
  const Cluster cluster(examples::dgx_h100(4));
  for (const int stride : {1, 2, 4, 8}) {
    std::vector<std::vector<int>> family(static_cast<std::size_t>(stride));
    for (int gpu = 0; gpu < 32; ++gpu) family[static_cast<std::size_t>(gpu % stride)].push_back(gpu);
    const GroupLayout layout = layout_of(cluster, family);
    for (const Operation operation :
         {Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather, Operation::kBroadcast,
          Operation::kReduce, Operation::kAllToAll, Operation::kSendReceive}) {
      const double alone = Network(cluster).collective(operation, Bytes(kBig), layout).time.value();
      const WireLoad load = collective_load(operation, Bytes(kBig), layout, cluster.spec());
      for (const Seconds busy : load.busy) EXPECT_LE(busy.value(), 1.06 * alone) << stride;
    }
  }
}

// A message loads the outgoing ports of its sender; three on one NIC, each three times as long.
TEST(WireLoad, AMessageLoadsItsWay) {
  const Cluster cluster(examples::dgx_h100(2));
  const WireLoad near = send_load(Bytes(kBig), cluster, 0, 5);
  EXPECT_NEAR(near.at(Port::kScaleUpOut).value(), 10.0 / 360, 1e-9);
  EXPECT_EQ(near.at(Port::kScaleUpIn), Seconds(0));
  const WireLoad far = send_load(Bytes(kBig), cluster, 2, 10);
  EXPECT_NEAR(far.at(Port::kNicOut).value(), 10 / 50.0, 1e-9);
  EXPECT_EQ(far.at(Port::kNicIn), Seconds(0));
  EXPECT_EQ(far.channels, 2);
  EXPECT_NEAR(send_load(Bytes(kBig), cluster, 2, 10, {3, 3}).at(Port::kNicOut).value(), 30 / 50.0, 1e-9);
  EXPECT_EQ(send_load(Bytes(kBig), cluster, 3, 3).at(Port::kScaleUpOut), Seconds(0));
}

}  // namespace
}  // namespace hw_models
