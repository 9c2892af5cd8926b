#include "hw_models/measured_transfers.h"

#include <gtest/gtest.h>

#include "hw_models/cluster.h"
#include "hw_models/network.h"

namespace hw_models {
namespace {

constexpr double kTolerance = 1e-12;

std::vector<MeasuredTransfer> line() {
  return {{Bytes(100), Seconds(10)}, {Bytes(200), Seconds(12)}, {Bytes(400), Seconds(20)}};
}

TEST(MeasuredTransfers, ArePiecewiseLinear) {
  const struct {
    std::int64_t bytes;
    double seconds;
  } cases[] = {{1, 10}, {100, 10}, {150, 11}, {200, 12}, {300, 16}, {400, 20}, {600, 28}};
  for (const auto& c : cases) {
    EXPECT_NEAR(transfer_time(line(), Bytes(c.bytes)).value(), c.seconds, kTolerance) << c.bytes;
  }
}

TEST(MeasuredTransfers, NeverFallBeyondTheirEnd) {
  const std::vector<MeasuredTransfer> falling{{Bytes(100), Seconds(10)}, {Bytes(200), Seconds(8)}};
  EXPECT_NEAR(transfer_time(falling, Bytes(1000)).value(), 8, kTolerance);
  const std::vector<MeasuredTransfer> single{{Bytes(100), Seconds(10)}};
  EXPECT_NEAR(transfer_time(single, Bytes(1000)).value(), 10, kTolerance);
}

TEST(MeasuredTransfers, LieBetweenTheGroupSizesMeasured) {
  MeasuredTransfers measured;
  measured.collectives = {{Operation::kAllReduce, 2, {{Bytes(100), Seconds(10)}}},
                          {Operation::kAllReduce, 4, {{Bytes(100), Seconds(30)}}},
                          {Operation::kAllGather, 2, {{Bytes(100), Seconds(5)}}}};
  const auto time = [&](Operation operation, int ranks) {
    return collective_time(measured, operation, Bytes(100), ranks)->value();
  };
  EXPECT_NEAR(time(Operation::kAllReduce, 2), 10, kTolerance);
  EXPECT_NEAR(time(Operation::kAllReduce, 3), 20, kTolerance);
  EXPECT_NEAR(time(Operation::kAllReduce, 4), 30, kTolerance);
  EXPECT_NEAR(time(Operation::kAllReduce, 7), 60, kTolerance);  // 6/3 of four ranks' time
  EXPECT_NEAR(time(Operation::kAllGather, 3), 10, kTolerance);
  EXPECT_FALSE(collective_time(measured, Operation::kAllToAll, Bytes(100), 2).has_value());
}

// Inside the node the tables, between nodes the model.
TEST(MeasuredTransfers, ReplaceTheNetworksModelInsideANode) {
  ClusterSpec spec;
  spec.node.gpus = 4;
  spec.node.scale_up = ScaleUpKind::kNone;
  spec.node.scale_up_domain = 4;
  spec.node.nics = 1;
  spec.node.nic_bandwidth = BytesPerSecond(1e9);
  spec.node.pcie_bandwidth = BytesPerSecond(1e9);
  spec.nodes = 2;
  MeasuredTransfers measured;
  measured.collectives = {{Operation::kAllReduce, 2, line()}};
  measured.send = {{Bytes(100), Seconds(7)}, {Bytes(200), Seconds(9)}};
  const Cluster plain(spec);
  spec.node.measured = measured;
  const Cluster cluster(spec);
  const Network network(cluster), model(plain);
  const auto layouts = network.layouts(std::vector<std::vector<int>>{{0, 1}, {3, 4}});
  EXPECT_NEAR(network.collective(Operation::kAllReduce, Bytes(150), layouts[0]).time.value(), 11, kTolerance);
  EXPECT_STREQ(network.collective(Operation::kAllReduce, Bytes(150), layouts[0]).algorithm, "measured");
  EXPECT_EQ(network.collective(Operation::kAllReduce, Bytes(150), layouts[1]).time,
            model.collective(Operation::kAllReduce, Bytes(150), layouts[1]).time);
  EXPECT_EQ(network.collective(Operation::kAllGather, Bytes(150), layouts[0]).time,
            model.collective(Operation::kAllGather, Bytes(150), layouts[0]).time);
  EXPECT_NEAR(network.send(Bytes(150), 0, 3).value(), 8, kTolerance);
  EXPECT_EQ(network.send(Bytes(150), 0, 4), model.send(Bytes(150), 0, 4));
}

}  // namespace
}  // namespace hw_models
