#include "sim/coupled_collective.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "sim/cluster_links.h"
#include "sim/collective_flows.h"
#include "sim/engine.h"
#include "sim/fluid_network.h"
#include "tests/sanitized.h"
#include "tests/sim/network_clusters.h"

namespace sim {
namespace {

using enum strategies::ExchangeKind;
using hw_models::Cluster;
using strategies::Exchange;
using strategies::ExchangeKind;

std::vector<std::int64_t> run_coupled(const Cluster& cluster, std::span<const GroupCollective> collectives) {
  Engine engine;
  const std::vector<hw_models::BytesPerSecond> links = cluster_links(cluster);
  FluidNetwork network(engine, links, 0);
  std::vector<std::int64_t> ends(collectives.size());
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const CoupledCollective coupled = coupled_collective(cluster, collectives[i]);
    network.start(coupled.activity(i));
  }
  engine.run([&](EventId id) { network.handle(id, [&](std::uint64_t tag) { ends[tag] = engine.now(); }); });
  return ends;
}

void expect_within(std::int64_t reference, std::int64_t coupled, double share) {
  EXPECT_LE(std::abs(static_cast<double>(coupled - reference)), share * static_cast<double>(reference))
      << reference << " ns by messages, " << coupled << " ns coupled";
}

struct Agreement {
  const char* algorithm;
  ExchangeKind kind;
  int nodes;
  int blocks;  ///< into which the algorithm cuts S before channels and slices
  double tolerance = 0.02;
};

// 1 GiB in messages of 512 KiB (what NCCL's buffers hold per slot) and of half that, on one channel and on eight.
TEST(CoupledCollective, AgreesWithItsMessagesWhereBandwidthCounts) {
  const std::vector<Agreement> cases = {
      {"ring", kAllReduce, 1, 8},
      {"ring", kAllReduce, 2, 16},
      {"ring", kAllReduce, 4, 32},
      {"ring", kAllGather, 2, 16},
      {"ring", kReduceScatter, 4, 32},
      {"ring", kBroadcast, 4, 1, 0.05},  // while it fills, seven of eight channels share every link
      {"tree", kAllReduce, 1, 2},
      {"tree", kAllReduce, 2, 2},
      {"tree", kAllReduce, 4, 2},
      {"nvls", kAllReduce, 1, 8},
      {"nvls", kReduceScatter, 1, 8},
      {"nvls", kAllGather, 1, 8},
      {"nvls-tree", kAllReduce, 2, 16},
      {"nvls-tree", kAllReduce, 4, 16},
      {"nvls-sharp", kAllReduce, 2, 8},
      {"collnet-direct", kAllReduce, 2, 8, 0.03},
      {"collnet-chain", kAllReduce, 4, 1},
      {"direct", kAllToAll, 1, 8},
      {"direct", kAllToAll, 2, 16},
      {"direct", kAllToAll, 4, 32},
      {"pxn", kAllToAll, 2, 16},
  };
  constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  for (const Agreement& c : tests::sampled(cases)) {
    const Cluster cluster(dgx_h100(c.nodes));
    for (const int channels : {1, 8}) {
      for (const std::int64_t message : {1 << 18, 1 << 19}) {
        const auto slices = static_cast<int>(kBytes / (message * c.blocks * channels));
        const Exchange exchange{c.kind, 0, 0, channels, slices};
        SCOPED_TRACE(testing::Message() << c.algorithm << ' ' << strategies::name(c.kind) << ", " << c.nodes
                                        << " nodes, " << channels << " channels, " << slices << " slices");
        const std::vector<GroupCollective> one = {
            group_collective(c.algorithm, exchange, kBytes, gpu_range(0, cluster.gpus()))};
        expect_within(run_collectives(cluster, one).end_ns[0], run_coupled(cluster, one)[0], c.tolerance);
      }
    }
  }
}

TEST(CoupledCollective, OfARingIsTheClosedForm) {
  const Cluster cluster(dgx_h100(1));
  const CoupledCollective ring =
      coupled_collective(cluster, group_collective("ring", {kAllReduce, 0, 0, 2, 3}, 48 * 360'000, gpu_range(0, 8)));
  EXPECT_EQ(ring.latency_ns, 3 * 14 * 600);
  ASSERT_EQ(ring.uses.size(), 16U);  // into and out of every GPU
  for (const LinkUse& use : ring.uses) EXPECT_DOUBLE_EQ(use.factor, 2 * 7 / 8.0);
}

TEST(CoupledCollective, ContendsAsItsMessagesDo) {
  const Cluster cluster(shared_nics(2));
  struct Case {
    const char* algorithm;
    Exchange exchange;
    std::vector<std::vector<int>> groups;
  };
  const std::vector<Case> cases = {
      {"ring", {kAllReduce, 0, 0, 1, 8}, {{0, 8}, {1, 9}}},
      {"ring", {kAllReduce, 0, 0, 1, 8}, {{0, 8}, {1, 9}, {2, 10}}},  // the third has a NIC for itself
      {"ring", {kAllReduce, 0, 0, 2, 8}, {{0, 2, 8, 10}, {1, 3, 9, 11}}},
      {"direct", {kAllToAll, 0, 0, 1, 8}, {{0, 2, 8, 10}, {1, 3, 9, 11}}},
      {"direct", {kAllToAll, 0, 0, 1, 8}, {{0, 1, 2, 3, 8, 9, 10, 11}, {4, 5, 6, 7, 12, 13, 14, 15}}},
  };
  for (const Case& c : cases) {
    std::vector<GroupCollective> all;
    for (const std::vector<int>& gpus : c.groups) {
      all.push_back(group_collective(c.algorithm, c.exchange, 1 << 27, gpus));
    }
    const std::vector<std::int64_t> messages = run_collectives(cluster, all).end_ns,
                                    coupled = run_coupled(cluster, all);
    for (std::size_t i = 0; i < all.size(); ++i) expect_within(messages[i], coupled[i], 0.02);
  }
}

TEST(CoupledCollective, OfNothingTakesItsLatencyOnly) {
  const Cluster cluster(dgx_h100(2));
  const GroupCollective empty = group_collective("ring", {}, 0, gpu_range(0, 16));
  const CoupledCollective coupled = coupled_collective(cluster, empty);
  EXPECT_TRUE(coupled.uses.empty());
  EXPECT_EQ(coupled.latency_ns, run_collectives(cluster, {&empty, 1}).end_ns[0]);
  EXPECT_EQ(coupled_collective(cluster, group_collective("ring", {}, 1'000, {3})).latency_ns, 0);
}

}  // namespace
}  // namespace sim
