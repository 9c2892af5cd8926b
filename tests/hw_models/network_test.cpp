#include "hw_models/network.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tests/hw_models/cluster_examples.h"

namespace hw_models {
namespace {

constexpr std::int64_t kBig = 10'000'000'000;

ClusterSpec tapered() {
  ClusterSpec spec = examples::dgx_h100(64);
  spec.fabric.oversubscription = 4;
  return spec;
}

ClusterSpec with_dead_nic() {
  ClusterSpec spec = examples::dgx_h100(2);
  spec.dead_nics = {{1, 2}};
  return spec;
}

struct SendCase {
  const char* what;
  ClusterSpec spec;
  int from, to, sharers;
  double gb_s;        ///< what a long message reaches
  double latency_us;  ///< of the hops
  bool leaves_node;
};

// PCIe hop 0.25 us, NVLink hop 0.6 us, switch 0.25 us, NIC pair 2 (InfiniBand), 15 (EFA), 20 us (plain Ethernet).
std::vector<SendCase> send_cases() {
  using namespace examples;
  return {
      {"NVLink", dgx_h100(2), 0, 5, 1, 0.8 * 450, 0.6, false},
      {"NVLink across trays", nvl72(18), 0, 71, 1, 0.8 * 900, 0.6, false},
      {"one mesh link", mi300x(1), 0, 5, 1, 0.8 * 64, 0.6, false},
      {"bridge", bridged_pairs(), 0, 1, 1, 0.8 * 300, 0.6, false},
      {"PCIe between the sockets", pcie_box(1), 3, 4, 1, 16, 5 * 0.25, false},
      {"same rail", dgx_h100(2), 2, 10, 1, 50, 4 * 0.25 + 2 + 0.25, true},
      {"same rail, three messages", dgx_h100(2), 2, 10, 3, 50.0 / 3, 4 * 0.25 + 2 + 0.25, true},
      {"other rail: handed over NVLink first", dgx_h100(2), 2, 11, 1, 50, 4 * 0.25 + 0.6 + 2 + 0.25, true},
      {"to a dead NIC: by way of the neighbour's rail", with_dead_nic(), 2, 10, 2, 25, 6 * 0.25 + 0.6 + 2 + 0.25, true},
      {"other unit", dgx_h100(64), 2, 258, 1, 50, 4 * 0.25 + 2 + 3 * 0.25, true},
      {"other unit behind a taper", tapered(), 2, 258, 1, 12.5, 4 * 0.25 + 2 + 3 * 0.25, true},
      {"taper does not touch the unit", tapered(), 2, 10, 1, 50, 4 * 0.25 + 2 + 0.25, true},
      {"p4d: one NIC", p4d(2), 2, 10, 1, 12.5, 4 * 0.25 + 15 + 0.25, true},
      {"p4d: its neighbour sends too", p4d(2), 2, 10, 2, 6.25, 4 * 0.25 + 15 + 0.25, true},
      {"p5: four NICs", p5(2), 2, 10, 1, 50, 4 * 0.25 + 15 + 0.25, true},
      {"plain Ethernet", pcie_box(2), 0, 8, 1, 1.25, 4 * 0.25 + 20 + 0.25, true},
  };
}

TEST(Network, SendByHand) {
  for (const SendCase& c : send_cases()) {
    const Cluster cluster(c.spec);
    const Network network(cluster);
    const double extra = c.leaves_node ? 11.3 : 2.8;
    const double long_us = 8.4 + c.latency_us + extra + kBig / (c.gb_s * 1e3);
    EXPECT_NEAR(network.send(Bytes(kBig), c.from, c.to, c.sharers).value() * 1e6, long_us, 1e-9 * long_us) << c.what;
    const double short_us = 6.6 + c.latency_us + 2 * 100 / (c.gb_s * 1e3);
    EXPECT_NEAR(network.send(Bytes(100), c.from, c.to, c.sharers).value() * 1e6, short_us, 1e-9 * short_us) << c.what;
  }
}

TEST(Network, SendingToOneselfOrNothingIsFree) {
  const Cluster cluster(examples::dgx_h100(2));
  const Network network(cluster);
  EXPECT_EQ(network.send(Bytes(kBig), 3, 3), Seconds(0));
  EXPECT_EQ(network.send(Bytes(0), 3, 12), Seconds(0));
}

TEST(Network, BadSendsAreRefused) {
  const Cluster cluster(examples::dgx_h100(2));
  const Network network(cluster);
  EXPECT_THROW(network.send(Bytes(1), 0, 1, 0), std::invalid_argument);
  EXPECT_THROW(network.send(Bytes(1), 0, 16), std::out_of_range);
}

// The path of a step at full size: all groups of an 8 x 16 x 128 plan on 16,384 GPUs.
TEST(Network, SixteenThousandGpus) {
  const Cluster cluster(examples::dgx_h100(2048));
  const Network network(cluster);
  std::vector<std::vector<int>> data(128);
  for (int gpu = 0; gpu < cluster.gpus(); ++gpu) data[static_cast<std::size_t>(gpu % 128)].push_back(gpu);
  for (const GroupLayout& layout : network.layouts(data)) {
    EXPECT_EQ(layout.ranks, 128);
    EXPECT_EQ(layout.domains, 128);
    EXPECT_DOUBLE_EQ(layout.inter.value(), 50e9);
  }
}

}  // namespace
}  // namespace hw_models
