#include "hw_models/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

/// Devices of a route; fails where consecutive links do not meet.
std::vector<DeviceId> devices_on(const Cluster& cluster, int from, int to) {
  std::vector<DeviceId> devices{cluster.gpu(from)};
  for (const LinkId id : cluster.route(from, to)) {
    const Link& link = cluster.link(id);
    EXPECT_TRUE(link.a == devices.back() || link.b == devices.back()) << "broken chain from " << from << " to " << to;
    devices.push_back(link.a == devices.back() ? link.b : link.a);
  }
  EXPECT_EQ(devices.back(), cluster.gpu(to));
  return devices;
}

std::string text(const Cluster& cluster, int from, int to) {
  std::string line;
  for (const DeviceId device : devices_on(cluster, from, to)) {
    line += (line.empty() ? "" : " ") + cluster.name(device);
  }
  return line;
}

int count(const Cluster& cluster, int from, int to, LinkClass kind) {
  const std::vector<LinkId> route = cluster.route(from, to);
  return static_cast<int>(
      std::count_if(route.begin(), route.end(), [&](LinkId id) { return cluster.link(id).kind == kind; }));
}

Seconds latency(const Cluster& cluster, int from, int to) {
  Seconds sum{};
  for (const LinkId id : cluster.route(from, to)) sum += cluster.link(id).latency;
  return sum;
}

ClusterSpec one_link() {
  ClusterSpec spec = examples::bridged_pairs();
  spec.node.scale_up = ScaleUpKind::kLinks;
  spec.node.scale_up_domain = 4;
  spec.node.links = {{1, 0, BytesPerSecond(25e9)}};
  return spec;
}

struct RouteCase {
  ClusterSpec spec;
  int from, to;
  const char* devices;
};

/// Two nodes per unit, two units per pod, 2:1 below the spines, 4:1 below the core.
ClusterSpec three_tiers(int nodes) {
  ClusterSpec spec = examples::dgx_h100(nodes);
  spec.fabric.nodes_per_unit = spec.fabric.units_per_pod = 2;
  spec.fabric.oversubscription = 2;
  spec.fabric.spine_oversubscription = 4;
  return spec;
}

ClusterSpec without_enough_nics() {
  ClusterSpec spec = examples::dgx_h100(2);
  spec.node.nics = 1;
  return spec;
}

std::vector<RouteCase> route_cases() {
  using namespace examples;
  return {
      {dgx_h100(64), 3, 3, "node0/gpu3"},
      {dgx_h100(64), 0, 7, "node0/gpu0 switch0 node0/gpu7"},
      {dgx_h100(64), 3, 11, "node0/gpu3 node0/pcie3 node0/nic3 leaf3 node1/nic3 node1/pcie3 node1/gpu3"},
      {dgx_h100(64), 3, 8, "node0/gpu3 node0/pcie3 node0/nic3 leaf3 spine leaf0 node1/nic0 node1/pcie0 node1/gpu0"},
      {dgx_h100(64), 3, 259,
       "node0/gpu3 node0/pcie3 node0/nic3 leaf3 spine leaf11 node32/nic3 node32/pcie3 node32/gpu3"},
      {three_tiers(8), 3, 19,
       "node0/gpu3 node0/pcie3 node0/nic3 leaf3 spine0 leaf11 node2/nic3 node2/pcie3 node2/gpu3"},
      {three_tiers(8), 3, 43,
       "node0/gpu3 node0/pcie3 node0/nic3 leaf3 spine0 core spine1 leaf19 node5/nic3 node5/pcie3 node5/gpu3"},
      {p4d(32), 1, 14, "node0/gpu1 node0/pcie0 node0/nic0 leaf0 node1/nic3 node1/pcie3 node1/gpu6"},
      {p4d(32), 0, 128, "node0/gpu0 node0/pcie0 node0/nic0 leaf0 spine leaf1 node16/nic0 node16/pcie0 node16/gpu0"},
      {p5(2), 1, 9, "node0/gpu1 node0/pcie1 node0/nic4 leaf4 node1/nic4 node1/pcie1 node1/gpu1"},
      {nvl72(36), 0, 71, "node0/gpu0 switch0 node17/gpu3"},
      {nvl72(36), 71, 72,
       "node17/gpu3 node17/pcie3 node17/nic3 leaf3 spine leaf4 node18/nic0 node18/pcie0 node18/gpu0"},
      {mi300x(1), 2, 5, "node0/gpu2 node0/gpu5"},
      {bridged_pairs(), 2, 3, "node0/gpu2 node0/gpu3"},
      {bridged_pairs(), 1, 2, "node0/gpu1 node0/pcie1 node0/host0 node0/host1 node0/pcie2 node0/gpu2"},
      {pcie_box(1), 0, 1, "node0/gpu0 node0/pcie0 node0/gpu1"},
      {pcie_box(1), 1, 2, "node0/gpu1 node0/pcie0 node0/host0 node0/pcie1 node0/gpu2"},
      {pcie_box(1), 3, 4, "node0/gpu3 node0/pcie1 node0/host0 node0/host1 node0/pcie2 node0/gpu4"},
      {cube_mesh(1), 4, 0, "node0/gpu4 node0/gpu0"},
      {cube_mesh(1), 0, 7, "node0/gpu0 node0/gpu4 node0/gpu7"},  // 50 GB/s; over GPU 3 it would be 25
      {one_link(), 0, 1, "node0/gpu0 node0/gpu1"},
      {one_link(), 1, 2, "node0/gpu1 node0/pcie1 node0/host0 node0/host1 node0/pcie2 node0/gpu2"},
      {shuffled_rails(2), 0, 8, "node0/gpu0 node0/pcie0 node0/nic4 leaf4 node1/nic4 node1/pcie0 node1/gpu0"},
      {shuffled_rails(2), 7, 10,
       "node0/gpu7 node0/pcie7 node0/nic2 leaf2 spine leaf0 node1/nic0 node1/pcie2 node1/gpu2"},
      {half_attached(2), 5, 9,
       "node0/gpu5 node0/pcie5 node0/host1 node0/host0 node0/pcie1 node0/nic1 leaf0 node1/nic1 node1/pcie1 "
       "node1/gpu1"},
      {without_enough_nics(), 7, 8,
       "node0/gpu7 node0/pcie7 node0/host1 node0/host0 node0/pcie0 node0/nic0 leaf0 node1/nic0 node1/pcie0 "
       "node1/gpu0"},
  };
}

TEST(Cluster, RoutesByHand) {
  for (const RouteCase& c : route_cases()) EXPECT_EQ(text(Cluster(c.spec), c.from, c.to), c.devices);
}

TEST(Cluster, CountsOfTwoDgxH100) {
  const Cluster cluster(examples::dgx_h100(2));
  // Node: 8 GPUs, 8 PCIe switches, 2 host bridges, 8 NICs. Shared: 2 NVSwitch crossbars, 8 leaves, 1 spine.
  EXPECT_EQ(cluster.devices(), 2U * 26 + 2 + 8 + 1);
  // Node: 8 NVLink, 8 + 8 + 8 PCIe, 1 between the hosts, 8 ports. Shared: 8 uplinks.
  EXPECT_EQ(cluster.links(), 2U * 41 + 8);
  EXPECT_EQ(cluster.gpus(), 16);
  EXPECT_EQ(cluster.node_of(9), 1);
  EXPECT_EQ(cluster.domain_of(9), 1);
}

// A leaf has two NIC ports of 50 GB/s; a pod has 16 leaves.
TEST(Cluster, UplinksOfThreeTiers) {
  const auto uplinks = [](const ClusterSpec& spec) {
    const Cluster cluster(spec);
    std::vector<double> rates;
    for (const LinkId id : cluster.route(3, 43)) {
      if (cluster.link(id).kind == LinkClass::kUplink) rates.push_back(cluster.link(id).bandwidth.value() / 1e9);
    }
    return rates;
  };
  ClusterSpec spec = three_tiers(8);
  EXPECT_EQ(Cluster(spec).devices(), 8U * 26 + 8 + 4 * 8 + 2 + 1);
  EXPECT_EQ(uplinks(spec), (std::vector<double>{50, 200, 200, 50}));
  spec.thin_link = ThinLink{ThinLink::At::kLeaf, 3, 0.5};
  EXPECT_EQ(uplinks(spec), (std::vector<double>{25, 200, 200, 50}));
  spec.fabric.planes = 2;  // the other plane's leaf is sound
  EXPECT_EQ(uplinks(spec), (std::vector<double>{37.5, 200, 200, 50}));
}

TEST(Cluster, EveryDeviceHasItsKindAndAnOwnName) {
  const Cluster cluster(examples::dgx_h100(3));
  std::set<std::string> names;
  std::vector<int> kinds(7);
  for (std::uint32_t i = 0; i < cluster.devices(); ++i) {
    names.insert(cluster.name(DeviceId{i}));
    ++kinds[static_cast<std::size_t>(cluster.kind(DeviceId{i}))];
  }
  EXPECT_EQ(names.size(), cluster.devices());
  EXPECT_EQ(kinds, (std::vector<int>{24, 3, 24, 6, 24, 8, 1}));
  EXPECT_STREQ(name(cluster.kind(cluster.gpu(17))), "gpu");
  EXPECT_STREQ(name(LinkClass::kUplink), "uplink");
}

TEST(Cluster, NicAffinity) {
  const auto nics = [](const ClusterSpec& spec) {
    const Cluster cluster(spec);
    std::vector<int> found;
    for (int gpu = 0; gpu < 16; ++gpu) found.push_back(cluster.nic_of(gpu));
    return found;
  };
  using V = std::vector<int>;
  EXPECT_EQ(nics(examples::dgx_h100(2)), (V{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(nics(examples::p4d(2)), (V{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}));
  EXPECT_EQ(nics(examples::p5(2)), (V{0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60}));
  EXPECT_EQ(nics(examples::shuffled_rails(2)), (V{4, 1, 0, 3, 6, 7, 5, 2, 12, 9, 8, 11, 14, 15, 13, 10}));
  EXPECT_EQ(nics(examples::pcie_box(2)), (V{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(Cluster(examples::bridged_pairs()).nic_of(3), -1);
}

TEST(Cluster, UplinksCarryTheDownlinksOverTheOversubscription) {
  ClusterSpec spec = examples::dgx_h100(40);
  spec.fabric.oversubscription = 2;
  const Cluster cluster(spec);
  double full = 0, partial = 0;
  for (const LinkId id : cluster.route(0, 8 * 39)) {
    const Link& link = cluster.link(id);
    if (link.kind != LinkClass::kUplink) continue;
    (cluster.name(link.a) == "leaf0" ? full : partial) = link.bandwidth.value();
  }
  EXPECT_DOUBLE_EQ(full, 32 * 50e9 / 2);
  EXPECT_DOUBLE_EQ(partial, 8 * 50e9 / 2);  // the second unit holds the other 8 nodes
}

TEST(Cluster, LatencyAddsUpAlongTheRoute) {
  const ClusterSpec spec = examples::dgx_h100(64);
  const Cluster cluster(spec);
  const double pcie = spec.node.pcie_latency.value();
  const double one_switch = spec.fabric.endpoint_latency.value() + spec.fabric.switch_latency.value();
  EXPECT_DOUBLE_EQ(latency(cluster, 0, 1).value(), spec.node.scale_up_latency.value());
  EXPECT_DOUBLE_EQ(latency(cluster, 0, 8).value(), 4 * pcie + one_switch);
  EXPECT_DOUBLE_EQ(latency(cluster, 0, 9).value(), 4 * pcie + one_switch + 2 * spec.fabric.switch_latency.value());
}

TEST(Cluster, UnknownGpuIsRefused) {
  const Cluster cluster(examples::dgx_h100(1));
  EXPECT_THROW(cluster.route(0, 8), std::out_of_range);
  EXPECT_THROW(cluster.route(-1, 0), std::out_of_range);
}

class RandomSpec {
 public:
  explicit RandomSpec(std::uint64_t seed) : random_(seed) {}

  ClusterSpec draw() {
    ClusterSpec spec = examples::dgx_h100(pick(1, 9));
    spec.node.gpus = 2 * pick(1, 8);
    spec.node.scale_up = static_cast<ScaleUpKind>(pick(0, 3));
    const int nodes_per_domain = spec.node.scale_up == ScaleUpKind::kSwitch ? pick(1, 3) : 1;
    spec.node.scale_up_domain = spec.node.gpus * nodes_per_domain;
    spec.node.nics = pick(1, 20);
    spec.node.gpus_per_pcie_switch = pick(1, 5);
    spec.node.numa_domains = pick(1, 8);
    spec.fabric.kind = pick(0, 1) == 0 ? FabricKind::kRailOptimized : FabricKind::kFatTree;
    spec.fabric.nodes_per_unit = pick(1, 4);
    return spec;
  }

 private:
  int pick(int low, int high) { return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1)); }
  std::mt19937_64 random_;
};

void expect_sound_route(const Cluster& cluster, int from, int to) {
  const std::vector<DeviceId> devices = devices_on(cluster, from, to);
  EXPECT_EQ(std::set<DeviceId>(devices.begin(), devices.end()).size(), devices.size()) << "a loop";
  std::vector<LinkId> back = cluster.route(to, from);
  std::reverse(back.begin(), back.end());
  EXPECT_EQ(cluster.route(from, to), back) << "not symmetric";
  for (std::size_t i = 1; i + 1 < devices.size(); ++i) {
    EXPECT_NE(cluster.kind(devices[i]), DeviceKind::kGpu) << "through another GPU";
  }
  const bool same_domain = cluster.domain_of(from) == cluster.domain_of(to);
  const int uplinks = count(cluster, from, to, LinkClass::kUplink);
  EXPECT_EQ(count(cluster, from, to, LinkClass::kNicPort), same_domain ? 0 : 2);
  EXPECT_TRUE(same_domain ? uplinks == 0 : uplinks == 0 || uplinks == 2);
}

TEST(Cluster, RandomClustersHaveSoundRoutes) {
  RandomSpec random(20240607);
  for (int trial = 0; trial < 60; ++trial) {
    const Cluster cluster(random.draw());
    SCOPED_TRACE(trial);
    for (int from = 0; from < cluster.gpus(); from += 3) {
      for (int to = 0; to < cluster.gpus(); ++to) expect_sound_route(cluster, from, to);
    }
    if (HasFailure()) return;
  }
}

TEST(Cluster, HundredsOfThousandsOfGpus) {
  const Cluster cluster(examples::dgx_h100(25'000));
  EXPECT_EQ(cluster.gpus(), 200'000);
  EXPECT_EQ(cluster.devices(), 25'000U * 26 + 25'000 + 782 * 8 + 1);  // ceil(25000 / 32) = 782 units
  EXPECT_EQ(text(cluster, 0, 199'999),
            "node0/gpu0 node0/pcie0 node0/nic0 leaf0 spine leaf6255 node24999/nic7 node24999/pcie7 node24999/gpu7");
}

}  // namespace
}  // namespace hw_models
