#include "sim/coupled_collective.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "sim/cluster_links.h"
#include "sim/collective_flows.h"
#include "sim/engine.h"
#include "sim/fluid_network.h"
#include "strategies/collectives/nccl_cut.h"
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

struct Shape {
  int nodes;
  std::vector<int> gpus;
};

/// A part of a node, whole nodes, a rank per node, halves of nodes.
std::vector<Shape> shapes() {
  std::vector<Shape> result = {{1, {0, 1}},           {1, gpu_range(0, 4)},  {1, gpu_range(0, 8)},
                               {2, gpu_range(0, 16)}, {4, gpu_range(0, 32)}, {8, gpu_range(0, 64)},
                               {2, {0, 8}},           {3, {0, 8, 16}},       {4, {}}};
  for (int gpu = 0; gpu < 32; ++gpu) {
    if (gpu % 8 < 4) result.back().gpus.push_back(gpu);
  }
  return result;
}

struct Counts {
  int cases = 0, with_steady_state = 0;
};

/// Whether runs of this are short enough for a test: one slice tells.
bool affordable(const Cluster& cluster, GroupCollective one) {
  constexpr std::size_t kMostSteps = 40'000;
  const auto slices = static_cast<std::size_t>(std::exchange(one.exchange.slices, 1));
  return slices <= kMostSteps && MessageLanes(cluster, {&one, 1}).steps().size() * slices <= kMostSteps;
}

void expect_agreement(const Cluster& cluster, const GroupCollective& one, Counts& counts) {
  if (!affordable(cluster, one)) return;
  SCOPED_TRACE(testing::Message() << one.algorithm->name << ' ' << strategies::name(one.exchange.kind) << ", "
                                  << one.gpus.size() << " ranks, " << one.bytes.value() << " bytes, "
                                  << one.exchange.channels << " channels, " << one.exchange.slices << " slices");
  const std::vector<GroupCollective> alone = {one};
  expect_within(run_collectives(cluster, alone).end_ns[0], run_coupled(cluster, alone)[0], 0.02);
  ++counts.cases;
  if (one.exchange.slices > static_cast<int>(2 * kConnectionSlots)) ++counts.with_steady_state;
}

// Every algorithm of the registry for all it serves, as NCCL cuts it, from 8 bytes to 1 GiB under every protocol.
TEST(CoupledCollective, AgreesWithItsMessages) {
  constexpr int kChannels = 24;
  constexpr std::array<std::int64_t, 7> kSizes{8, 1 << 10, 1 << 16, 1 << 20, 1 << 23, 1 << 26, 1 << 30};
  Counts counts;
  for (const Shape& shape : tests::sampled(shapes())) {
    const Cluster cluster(dgx_h100(shape.nodes));
    const strategies::GroupDomains domains = group_domains(cluster, shape.gpus);
    for (const strategies::CollectiveAlgorithm& algorithm : strategies::collective_algorithms()) {
      for (const ExchangeKind kind : algorithm.serves) {
        const Exchange whole{kind, 0, domains.ranks() - 1, kChannels, 1};
        if (!refusal(algorithm, whole, domains, {true, true}).empty()) continue;
        for (const hw_models::NcclProtocol protocol : hw_models::kNcclProtocols) {
          for (const std::int64_t bytes : kSizes) {
            const hw_models::Bytes size(bytes);
            expect_agreement(
                cluster, {&algorithm, nccl_cut(algorithm, whole, protocol, size, domains), size, shape.gpus}, counts);
          }
        }
      }
    }
  }
  EXPECT_GE(counts.cases, tests::kSanitized ? 150 : 1'500);
  EXPECT_GE(counts.with_steady_state, tests::kSanitized ? 15 : 150);
}

// One channel and eight, up to a thousand slices.
TEST(CoupledCollective, AgreesWithItsMessagesHoweverTheyAreCut) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  Counts counts;
  for (const int nodes : {1, 2, 4}) {
    const Cluster cluster(dgx_h100(nodes));
    const std::vector<int> gpus = gpu_range(0, cluster.gpus());
    const strategies::GroupDomains domains = group_domains(cluster, gpus);
    for (const strategies::CollectiveAlgorithm& algorithm : strategies::collective_algorithms()) {
      for (const ExchangeKind kind : algorithm.serves) {
        for (const auto& [channels, slices] : {std::pair{1, 40}, {1, 1'000}, {8, 24}, {8, 100}}) {
          const Exchange cut{kind, 0, 1, channels, slices};
          if (!refusal(algorithm, cut, domains, {true, true}).empty()) continue;
          expect_agreement(cluster, {&algorithm, cut, hw_models::Bytes(kBytes), gpus}, counts);
        }
      }
    }
  }
  EXPECT_GE(counts.with_steady_state, 60);
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
