#include "scenarios/collectives/machine.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "scenarios/catalog.h"

namespace scenarios {
namespace {

hw_models::ClusterSpec cluster_of(const char* node, int nodes, const char* fabric) {
  static const Catalog catalog;
  return {catalog.node(node).value(), nodes, catalog.fabric(fabric).value()};
}

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

double busbw(const Machine& machine, const char* name, std::int64_t bytes) {
  const CollectiveTest& test = *find_collective_test(name);
  return static_cast<double>(bytes) / machine.estimate(test, bytes).time.value() / 1e9 *
         bus_factor(test, machine.ranks());
}

TEST(Machine, TakesTheFirstGpusOfEveryNode) {
  const Machine machine(cluster_of("dgx-h100", 4, "infiniband-ndr"), 4);
  EXPECT_EQ(machine.ranks(), 4);
  EXPECT_FALSE(machine.one_domain());
  EXPECT_LT(busbw(machine, "all_reduce", 16 * kGiB), 50);  // one NIC each
  EXPECT_GT(busbw(Machine(cluster_of("dgx-h100", 4, "infiniband-ndr"), 32), "all_reduce", 16 * kGiB), 300);
  EXPECT_TRUE(Machine(cluster_of("gb200-nvl72", 18, "infiniband-ndr"), 72).one_domain());
}

TEST(Machine, GpusThatCannotBeSpreadAreRefused) {
  for (const int gpus : {0, 3, 18}) {
    EXPECT_THROW(Machine(cluster_of("dgx-h100", 2, "infiniband-ndr"), gpus), std::invalid_argument) << gpus;
  }
}

// The traps of other simulators: NICs are shared, and crossing nodes is not priced like NVLink.
TEST(Machine, NicsBoundAllToAllBetweenNodes) {
  const Machine inside(cluster_of("dgx-h100", 1, "none"), 8);
  const Machine across(cluster_of("dgx-h100", 2, "infiniband-ndr"), 16);
  EXPECT_GT(busbw(inside, "alltoall", kGiB), 250);
  // 8 of 15 peers are behind 46 GB/s: 46 x 15 / 8.
  EXPECT_NEAR(busbw(across, "alltoall", 64 * kGiB), 50 * 0.92 * 15 / 8, 2);
}

struct BottleneckCase {
  const char *node, *fabric;
  int nodes, gpus;
  double oversubscription;
  const char* link;
};

TEST(Machine, Bottleneck) {
  for (const BottleneckCase& c : {BottleneckCase{"dgx-h100", "none", 1, 8, 1, "NVLink"},
                                  {"mi355x-platform", "none", 1, 8, 1, "xGMI"},
                                  {"pcie-l40s-8", "none", 1, 8, 1, "PCIe"},
                                  {"dgx-h100", "infiniband-ndr", 4, 4, 1, "NIC"},
                                  {"dgx-h100", "infiniband-ndr", 64, 64, 4, "leaf uplink"}}) {
    hw_models::ClusterSpec cluster = cluster_of(c.node, c.nodes, c.fabric);
    cluster.fabric.oversubscription = c.oversubscription;
    if (c.nodes == 1) cluster.fabric.kind = hw_models::FabricKind::kNone;
    const Machine machine(cluster, c.gpus);
    EXPECT_EQ(machine.bottleneck(machine.estimate(*find_collective_test("all_reduce"), 16 * kGiB)), c.link) << c.node;
  }
}

TEST(Machine, TheTierThatTapersMostIsNamed) {
  hw_models::ClusterSpec cluster = cluster_of("dgx-h100", 64, "infiniband-ndr");
  cluster.fabric.units_per_pod = 1;
  cluster.fabric.spine_oversubscription = 4;
  const Machine machine(cluster, 64);
  EXPECT_EQ(machine.bottleneck(machine.estimate(*find_collective_test("all_reduce"), 16 * kGiB)), "spine uplink");
}

TEST(Machine, OptionsChangeTheChoice) {
  using hw_models::NcclAlgorithm;
  const auto chosen = [](const CollectiveOptions& options) {
    const Machine machine(cluster_of("dgx-h100", 1, "none"), 8, options);
    return machine.estimate(*find_collective_test("all_reduce"), kGiB).algorithm;
  };
  EXPECT_EQ(chosen({}), NcclAlgorithm::kNvls);
  CollectiveOptions options;
  options.nvls = false;
  EXPECT_EQ(chosen(options), NcclAlgorithm::kRing);
  options = {};
  options.reducible = false;
  EXPECT_EQ(chosen(options), NcclAlgorithm::kRing);
  options = {};
  options.choice.algorithms = hw_models::parse_nccl_algorithms("Tree").value();
  EXPECT_EQ(chosen(options), NcclAlgorithm::kTree);
}

}  // namespace
}  // namespace scenarios
