#include "scenarios/import/node_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// cpu0 - bridge - switch - {gpu0, nic0, lower switch - {gpu1, nic1}}; cpu0 - other bridge - gpu2; cpu1 - gpu3.
NodeTopology tree() {
  NodeTopology topology;
  const auto add = [&](TopologyKind kind, int parent) {
    topology.devices.push_back({kind, "", "", parent, {}, {}, ""});
    return static_cast<int>(topology.devices.size()) - 1;
  };
  const int cpu0 = add(TopologyKind::kCpu, -1);
  const int bridge = add(TopologyKind::kHostBridge, cpu0);
  const int upper = add(TopologyKind::kPcieSwitch, bridge);
  add(TopologyKind::kGpu, upper);  // 3
  add(TopologyKind::kNic, upper);  // 4
  const int lower = add(TopologyKind::kPcieSwitch, upper);
  add(TopologyKind::kGpu, lower);                                 // 6
  add(TopologyKind::kNic, lower);                                 // 7
  add(TopologyKind::kGpu, add(TopologyKind::kHostBridge, cpu0));  // 9
  add(TopologyKind::kGpu, add(TopologyKind::kCpu, -1));           // 11
  return topology;
}

TEST(NodeTopology, DistancesFollowTheTree) {
  const NodeTopology topology = tree();
  EXPECT_EQ(topology.path(3, 3), PathClass::kSelf);
  EXPECT_EQ(topology.path(3, 4), PathClass::kPix);
  EXPECT_EQ(topology.path(6, 7), PathClass::kPix);
  EXPECT_EQ(topology.path(3, 7), PathClass::kPxb);
  EXPECT_EQ(topology.path(7, 3), PathClass::kPxb);
  EXPECT_EQ(topology.path(3, 9), PathClass::kNode);
  EXPECT_EQ(topology.path(9, 11), PathClass::kSys);
}

TEST(NodeTopology, TwoDevicesOfOneBridgeOrCpuAreWithinPhb) {
  NodeTopology topology = tree();
  topology.devices.push_back({TopologyKind::kNic, "", "", 10, {}, {}, ""});  // on cpu1, as gpu3
  EXPECT_EQ(topology.path(11, 12), PathClass::kPhb);
  topology.devices.push_back({TopologyKind::kNic, "", "", 8, {}, {}, ""});  // on the other bridge, as gpu2
  EXPECT_EQ(topology.path(9, 13), PathClass::kPhb);
}

TEST(NodeTopology, ScaleUpLinksComeFirst) {
  NodeTopology topology = tree();
  topology.scale_up = {{3, 6, 4, {}}, {9, ScaleUpLink::kSwitches, 18, {}}, {11, ScaleUpLink::kSwitches, 18, {}}};
  EXPECT_EQ(topology.path(3, 6), PathClass::kScaleUp);
  EXPECT_EQ(topology.path(6, 3), PathClass::kScaleUp);
  EXPECT_EQ(topology.pcie_path(3, 6), PathClass::kPxb);
  EXPECT_EQ(topology.path(9, 11), PathClass::kScaleUp);  // through the switches
  EXPECT_EQ(topology.path(3, 9), PathClass::kNode);      // only one of them hangs on the switches
}

TEST(NodeTopology, NearestNics) {
  const NodeTopology topology = tree();
  EXPECT_THAT(topology.nearest_nics(3), ElementsAre(4));
  EXPECT_THAT(topology.nearest_nics(6), ElementsAre(7));
  EXPECT_THAT(topology.nearest_nics(9), ElementsAre(4, 7));
  EXPECT_THAT(NodeTopology{}.all(TopologyKind::kNic), IsEmpty());
}

TEST(NodeTopology, EveryKindAndPathHasAName) {
  for (int i = 0; i <= static_cast<int>(TopologyKind::kUnknown); ++i)
    EXPECT_STRNE(name(static_cast<TopologyKind>(i)), "");
  for (int i = 0; i <= static_cast<int>(PathClass::kSys); ++i) EXPECT_STRNE(name(static_cast<PathClass>(i)), "");
}

}  // namespace
}  // namespace scenarios
