#include "hw_models/network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "hw_models/nccl/group.h"
#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

constexpr std::int64_t kBig = 10'000'000'000;
constexpr Operation kOperations[] = {Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather,
                                     Operation::kBroadcast, Operation::kReduce,        Operation::kAllToAll};
constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

/// 4 ranks behind a switch: 100 GB/s, 1 us per step.
GroupLayout one_node() {
  GroupLayout layout;
  layout.ranks = layout.ranks_per_domain = 4;
  layout.intra = BytesPerSecond(100e9);
  layout.intra_latency = Seconds(1e-6);
  return layout;
}

/// `domains` nodes with `ranks_per_domain` ranks each: 100 GB/s inside, 10 GB/s per rank outside, 1 us and 4 us.
GroupLayout many_nodes(int domains, int ranks_per_domain) {
  GroupLayout layout = one_node();
  layout.ranks = domains * ranks_per_domain;
  layout.domains = layout.nodes = domains;
  layout.ranks_per_domain = ranks_per_domain;
  layout.inter = BytesPerSecond(10e9 * ranks_per_domain);
  layout.inter_per_rank = BytesPerSecond(10e9);
  layout.inter_latency = Seconds(4e-6);
  return layout;
}

CollectiveEstimate estimate(Operation operation, std::int64_t bytes, const GroupLayout& layout) {
  static const Cluster cluster(examples::dgx_h100(1));
  return Network(cluster).collective(operation, Bytes(bytes), layout);
}

double microseconds(Operation operation, std::int64_t bytes, const GroupLayout& layout) {
  return estimate(operation, bytes, layout).time.value() * 1e6;
}

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
  double simple_us = 2.8;  ///< what Simple adds to a hop
};

// PCIe hop 0.25 us, NVLink hop 0.6 us, switch 0.25 us, NIC pair 2 (InfiniBand), 15 (EFA), 20 us (plain Ethernet).
std::vector<SendCase> send_cases() {
  using namespace examples;
  return {
      {"NVLink", dgx_h100(2), 0, 5, 1, 0.8 * 450, 0.6, false},
      {"NVLink across trays", nvl72(18), 0, 71, 1, 0.8 * 900, 0.6, false},
      {"one mesh link", mi300x(1), 0, 5, 1, 0.8 * 64, 0.6, false},
      {"bridge", bridged_pairs(), 0, 1, 1, 0.8 * 300, 0.6, false},
      {"PCIe between the sockets", pcie_box(1), 3, 4, 1, 16, 5 * 0.25, false, 4.7},
      {"same rail", dgx_h100(2), 2, 10, 1, 50, 4 * 0.25 + 2 + 0.25, true, 11.3},
      {"same rail, three messages", dgx_h100(2), 2, 10, 3, 50.0 / 3, 4 * 0.25 + 2 + 0.25, true, 11.3},
      {"other rail: handed over NVLink first", dgx_h100(2), 2, 11, 1, 50, 4 * 0.25 + 0.6 + 2 + 0.25, true, 11.3},
      {"to a dead NIC: by way of the neighbour's rail", with_dead_nic(), 2, 10, 2, 25, 6 * 0.25 + 0.6 + 2 + 0.25, true,
       11.3},
      {"other unit", dgx_h100(64), 2, 258, 1, 50, 4 * 0.25 + 2 + 3 * 0.25, true, 11.3},
      {"other unit behind a taper", tapered(), 2, 258, 1, 12.5, 4 * 0.25 + 2 + 3 * 0.25, true, 11.3},
      {"taper does not touch the unit", tapered(), 2, 10, 1, 50, 4 * 0.25 + 2 + 0.25, true, 11.3},
      {"p4d: one NIC", p4d(2), 2, 10, 1, 12.5, 4 * 0.25 + 15 + 0.25, true, 11.3},
      {"p4d: its neighbour sends too", p4d(2), 2, 10, 2, 6.25, 4 * 0.25 + 15 + 0.25, true, 11.3},
      {"p5: four NICs", p5(2), 2, 10, 1, 50, 4 * 0.25 + 15 + 0.25, true, 11.3},
      {"plain Ethernet", pcie_box(2), 0, 8, 1, 1.25, 4 * 0.25 + 20 + 0.25, true, 11.3},
  };
}

// Messages up to 16 KiB by LL at half the rate, longer ones by Simple with a base 1.8 us higher and 2.8 (NVLink), 4.7
// (PCIe) or 11.3 us (network) more a hop; launch, step, rate and ramp as the system corrects them.
TEST(Network, SendByHand) {
  for (const SendCase& c : send_cases()) {
    SCOPED_TRACE(c.what);
    const Cluster cluster(c.spec);
    const Network network(cluster);
    const NcclSystem system = nccl_system(c.spec);
    const double launch = 1e6 * (system.node.launch + (c.leaves_node ? system.fabric.launch : Seconds(0))).value();
    const double step = c.leaves_node ? system.fabric.step : system.node.step;
    const double rate = 1e3 * c.gb_s * (c.leaves_node ? 1 : system.node.bandwidth);
    const double full_ramp = 1e6 * (c.leaves_node ? system.fabric.ramp : system.node.ramp).value() / 14;
    const double ramp = full_ramp * kBig / (kBig + 32.0 * (1 << 20));
    const double long_us = launch + 1.8 + step * (c.latency_us + c.simple_us) + kBig / rate + ramp;
    EXPECT_NEAR(network.send(Bytes(kBig), c.from, c.to, c.sharers).value() * 1e6, long_us, 1e-9 * long_us);
    const double short_us = launch + step * c.latency_us + 2 * 100 / rate;
    EXPECT_NEAR(network.send(Bytes(100), c.from, c.to, c.sharers).value() * 1e6, short_us, 1e-9 * short_us);
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

TEST(NetworkCollective, LatenessIsAddedOnce) {
  for (const Operation operation : kOperations) {
    GroupLayout late = many_nodes(4, 2);
    late.lateness = Seconds(50e-6);
    EXPECT_NEAR(microseconds(operation, kMiB, late), microseconds(operation, kMiB, many_nodes(4, 2)) + 50, 1e-9);
    EXPECT_EQ(estimate(operation, 0, late).time, Seconds(0));
  }
}

TEST(NetworkCollective, OneRankOrNoBytesCostNothing) {
  for (const Operation operation : kOperations) {
    EXPECT_EQ(estimate(operation, kGiB, GroupLayout{}).time, Seconds(0));
    EXPECT_EQ(estimate(operation, 0, one_node()).time, Seconds(0));
    EXPECT_STREQ(estimate(operation, kGiB, GroupLayout{}).algorithm, "none");
  }
}

/// NCCL's choice is not perfect: where it changes, twice the bytes may take less.
TEST(NetworkCollective, FourTimesTheBytesTakeLonger) {
  for (const Operation operation : kOperations) {
    for (const GroupLayout& layout : {one_node(), many_nodes(2, 4), many_nodes(128, 1)}) {
      for (std::int64_t bytes = 1; bytes < 16 * kGiB; bytes *= 2) {
        EXPECT_LT(microseconds(operation, bytes, layout), microseconds(operation, 4 * bytes, layout));
      }
    }
  }
}

TEST(NetworkCollective, LatencyGrowsWithTheGroup) {
  for (const Operation operation : kOperations) {
    for (int nodes = 1; nodes < 1024; nodes *= 2) {
      EXPECT_LT(microseconds(operation, 1, many_nodes(nodes, 8)), microseconds(operation, 1, many_nodes(2 * nodes, 8)));
    }
  }
}

TEST(NetworkCollective, LongTransfersReachTheSlowestHop) {
  // 2 x 8 H100, one group: NVLS tree, 8 channels of 57.7 GB/s; one rank per node: a NIC of 50 GB/s.
  const Cluster cluster(examples::dgx_h100(2));
  const Network network(cluster);
  std::vector<int> all(16);
  std::iota(all.begin(), all.end(), 0);
  const std::int64_t bytes = 64 * kGiB;
  const auto busbw = [&](const std::vector<int>& group) {
    const std::vector<std::vector<int>> family{group};
    const double n = static_cast<double>(group.size());
    const Seconds time = network.collective(Operation::kAllReduce, Bytes(bytes), network.layouts(family).front()).time;
    return 2 * (n - 1) / n * static_cast<double>(bytes) / time.value() / 1e9;
  };
  EXPECT_NEAR(busbw(all), 8 * 57.7, 1);
  EXPECT_LE(busbw({3, 11}), 50);
  EXPECT_GT(busbw({3, 11}), 35);
}

// A stack says which NCCL it has: 2.16 has no in-switch reduction, 2.22 no PAT.
TEST(NetworkCollective, OldReleasesDoWithoutLaterAlgorithms) {
  const Cluster node(examples::dgx_h100(1)), many(examples::dgx_h100(64));
  const auto algorithm = [](const Cluster& cluster, int release, Operation operation, const GroupLayout& layout) {
    return std::string(
        Network(cluster, known_to_nccl(release)).collective(operation, Bytes(kMiB * 64), layout).algorithm);
  };
  std::vector<std::vector<int>> whole(1), rail(1);
  for (int gpu = 0; gpu < 8; ++gpu) whole[0].push_back(gpu);
  for (int gpu = 0; gpu < 512; gpu += 8) rail[0].push_back(gpu);
  const GroupLayout inside = Network(node).layouts(whole).front();
  EXPECT_EQ(algorithm(node, kNewestNccl, Operation::kAllReduce, inside), "NVLS");
  EXPECT_EQ(algorithm(node, 16, Operation::kAllReduce, inside), "Ring");
  const GroupLayout across = Network(many).layouts(rail).front();
  const auto gathered = [&](int release) {
    return std::string(
        Network(many, known_to_nccl(release)).collective(Operation::kAllGather, Bytes(kMiB), across).algorithm);
  };
  EXPECT_EQ(gathered(kNewestNccl), "PAT");
  EXPECT_EQ(gathered(22), "Ring");
}

struct Measurement {
  const char* system;
  ClusterSpec spec;
  int gpus;
  std::int64_t bytes;
  double busbw_gb_s;
  double factor;  ///< prediction within this factor
};

// Bus bandwidths of all-reduce from Bekman, ML Engineering (network benchmarks and all_reduce_bench results, 2025).
// Their smallest sizes take longer than those of the sweeps that the corrections come from.
std::vector<Measurement> measurements() {
  using namespace examples;
  return {
      {"A100 node", p4d(1), 8, kMiB, 18, 2.3},
      {"A100 node", p4d(1), 8, 16 * kMiB, 106, 1.4},
      {"A100 node", p4d(1), 8, 128 * kMiB, 177, 1.1},
      {"A100 node", p4d(1), 8, kGiB, 229, 1.1},
      {"A100 node", p4d(1), 8, 16 * kGiB, 235, 1.05},
      {"H200 node", dgx_h100(1), 8, kMiB, 40, 1.6},
      {"H200 node", dgx_h100(1), 8, 16 * kGiB, 482, 1.05},
      {"4 x P6-B200", p6_b200(4), 32, 64 * kMiB, 157, 1.25},
      {"4 x P6-B200", p6_b200(4), 32, 256 * kMiB, 229, 1.3},
      {"4 x P6-B200", p6_b200(4), 32, kGiB, 362, 1.1},
      {"4 x P6-B200", p6_b200(4), 32, 16 * kGiB, 382, 1.1},
      {"MI300X pair", mi300x(1), 2, 4 * kGiB, 47.7, 1.1},
      {"MI300X node", mi300x(1), 8, 4 * kGiB, 312.9, 1.2},
  };
}

TEST(NetworkCollective, MeasuredAllReduce) {
  for (const Measurement& m : measurements()) {
    const Cluster cluster(m.spec);
    const Network network(cluster);
    std::vector<std::vector<int>> family(1);
    for (int gpu = 0; gpu < m.gpus; ++gpu) family[0].push_back(gpu);
    const CollectiveEstimate found =
        network.collective(Operation::kAllReduce, Bytes(m.bytes), network.layouts(family).front());
    const double busbw = 2.0 * (m.gpus - 1) / m.gpus * static_cast<double>(m.bytes) / found.time.value() / 1e9;
    const std::string line = fmt::format("{:12} {:2} GPUs {:6} MiB  measured {:6.1f}  predicted {:6.1f} GB/s  {}",
                                         m.system, m.gpus, m.bytes / kMiB, m.busbw_gb_s, busbw, found.algorithm);
    std::puts(line.c_str());
    EXPECT_LT(busbw, m.busbw_gb_s * m.factor) << line;
    EXPECT_GT(busbw, m.busbw_gb_s / m.factor) << line;
  }
}

}  // namespace
}  // namespace hw_models
