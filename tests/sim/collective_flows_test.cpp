#include "sim/collective_flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/cluster_links.h"
#include "sim/coupled_collective.h"
#include "tests/sim/network_clusters.h"

namespace sim {
namespace {

using enum strategies::ExchangeKind;
using hw_models::Cluster;
using strategies::Exchange;
using strategies::ExchangeKind;
using strategies::Step;
using strategies::StepKind;

std::int64_t time_alone(const Cluster& cluster, const GroupCollective& collective) {
  return run_collectives(cluster, {&collective, 1}).end_ns[0];
}

// A block of 360,000 bytes takes 1,000 ns through a port of 360 bytes/ns, and 600 ns of latency.
TEST(CollectiveFlows, RingOnASwitchIsTheClosedForm) {
  const Cluster cluster(dgx_h100(1));
  for (int n = 2; n <= 8; ++n) {
    for (const auto& [channels, slices] : {std::pair{1, 1}, {1, 5}, {4, 1}, {3, 2}}) {
      SCOPED_TRACE(testing::Message() << n << " ranks, " << channels << " channels, " << slices << " slices");
      const std::int64_t bytes = std::int64_t{n} * channels * slices * 360'000;
      const auto time = [&, c = channels, s = slices](ExchangeKind kind) {
        return time_alone(cluster, group_collective("ring", {kind, 0, 0, c, s}, bytes, gpu_range(0, n)));
      };
      // Channels share the ports; slices follow each other.
      const std::int64_t round = std::int64_t{n - 1} * slices * (600 + 1'000 * channels);
      EXPECT_EQ(time(kAllReduce), 2 * round);
      EXPECT_EQ(time(kAllGather), round);
      EXPECT_EQ(time(kReduceScatter), round);
    }
  }
}

TEST(CollectiveFlows, HandSolvedOnASwitch) {
  struct Case {
    const char* what;
    const char* algorithm;
    Exchange exchange;
    std::int64_t blocks;  ///< S in blocks of 360,000 bytes
    std::uint32_t slots;
    std::int64_t end_ns;
  };
  const std::vector<Case> cases = {
      {"one message", "direct", {kSend, 0, 1}, 1, 8, 1'600},
      {"messages follow each other, latencies overlap", "direct", {kSend, 0, 1, 1, 8}, 8, 8, 600 + 8'000},
      {"one slot: each waits for the one before", "direct", {kSend, 0, 1, 1, 8}, 8, 1, 8 * 1'600},
      {"two slots are enough when the latency is short", "direct", {kSend, 0, 1, 1, 8}, 8, 2, 600 + 8'000},
      {"a chain of seven hops, four slices", "ring", {kBroadcast, 0, 0, 1, 4}, 4, 8, 7 * 600 + (4 + 6) * 1'000},
      {"all ports full at once", "direct", {kAllToAll}, 8, 8, 600 + 7'000},
      // Piece 8 has reached the switch after 300 + 8,000 and then its owner.
      {"the switch adds", "nvls", {kReduceScatter}, 8, 8, 300 + 8'000 + 300 + 1'000},
      // One piece per rank goes up at once; the switch sends eight down every port.
      {"the switch copies", "nvls", {kAllGather}, 8, 8, 300 + 1'000 + 300 + 8'000},
      {"without bytes latency remains", "ring", {kAllReduce}, 0, 8, 14 * 600},
  };
  const Cluster cluster(dgx_h100(1));
  for (const Case& c : cases) {
    const GroupCollective one = group_collective(c.algorithm, c.exchange, c.blocks * 360'000, gpu_range(0, 8));
    EXPECT_EQ(run_collectives(cluster, {&one, 1}, c.slots).end_ns[0], c.end_ns) << c.what;
  }
}

TEST(CollectiveFlows, GroupsThatShareNicsTakeTwiceAsLong) {
  const Cluster cluster(shared_nics(2));
  constexpr std::int64_t kBytes = 12'500'000;  // a half takes 500 us through a NIC of 12.5 bytes/ns
  constexpr std::int64_t kLatency = 4 * 400 + 1'200;
  const auto pair = [](int gpu) { return group_collective("ring", {}, kBytes, {gpu, gpu + 8}); };
  EXPECT_EQ(time_alone(cluster, pair(0)), 2 * (kLatency + 500'000));
  const std::vector<GroupCollective> sharing = {pair(0), pair(1)}, apart = {pair(0), pair(2)};
  for (const std::int64_t end : run_collectives(cluster, sharing).end_ns) EXPECT_EQ(end, 2 * (kLatency + 1'000'000));
  for (const std::int64_t end : run_collectives(cluster, apart).end_ns) EXPECT_EQ(end, 2 * (kLatency + 500'000));
}

// What another simulator got 50 to 140 times too fast: every rank had a NIC of its own. Here two ranks send eight
// blocks each, S in all, through one NIC.
TEST(CollectiveFlows, AllToAllPaysForSharedNics) {
  const Cluster cluster(shared_nics(2));
  constexpr std::int64_t kBytes = 125'000'000;
  for (const char* algorithm : {"direct", "pxn"}) {
    const std::int64_t end =
        time_alone(cluster, group_collective(algorithm, {kAllToAll, 0, 0, 1, 16}, kBytes, gpu_range(0, 16)));
    EXPECT_GE(end, 10'000'000) << algorithm;
    EXPECT_LE(end, 10'300'000) << algorithm;
  }
}

TEST(CollectiveFlows, AHopBetweenNodesIsPricedByItsOwnLinks) {
  const Cluster cluster(dgx_h100(2));
  const auto send = [&](int from, int to, std::int64_t bytes) {
    return time_alone(cluster, group_collective("direct", {kSend, 0, 1}, bytes, {from, to}));
  };
  EXPECT_EQ(send(0, 7, 360'000'000), 600 + 1'000'000);
  EXPECT_EQ(send(0, 8, 46'000'000), 2'800 + 1'000'000);
  EXPECT_EQ(send(7, 8, 46'000'000), 3'200 + 1'000'000);  // to another rail, over a spine
  const Cluster striped(four_nics_each(2));
  EXPECT_EQ(time_alone(striped, group_collective("direct", {kSend, 0, 1}, 50'000'000, {0, 8})), 2'800 + 1'000'000);
}

// One channel crosses by one NIC per node, whatever NVLink could do; eight use eight.
TEST(CollectiveFlows, RingsBetweenNodesUseANicPerChannel) {
  const Cluster cluster(dgx_h100(2));
  constexpr std::int64_t kBytes = 16 * 80'000 * 46;  // 30 blocks cross, of 80,000 ns each at 46 bytes/ns
  const std::int64_t one = time_alone(cluster, group_collective("ring", {}, kBytes, gpu_range(0, 16)));
  const std::int64_t eight =
      time_alone(cluster, group_collective("ring", {kAllReduce, 0, 0, 8, 1}, kBytes, gpu_range(0, 16)));
  EXPECT_NEAR(static_cast<double>(one), 30 * 80'000, 30 * 80'000 * 0.01);
  EXPECT_NEAR(static_cast<double>(eight), 30 * 10'000, 30 * 10'000 * 0.02);
}

TEST(CollectiveFlows, GpusTakePartInSeveralCommunicationsAtOnce) {
  const Cluster cluster(dgx_h100(2));
  std::vector<GroupCollective> all = {group_collective("ring", {}, 8 * 3'600'000, gpu_range(0, 8))};
  for (int gpu = 0; gpu < 8; ++gpu) {
    all.push_back(group_collective("direct", {kSend, 0, 1}, 4'600'000, {gpu, gpu + 8}));
    all.push_back(group_collective("direct", {kSend, 0, 1}, 4'600'000, {gpu + 8, gpu}));
  }
  const CollectiveTimes times = run_collectives(cluster, all);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(times.end_ns[i], time_alone(cluster, all[i])) << i;
}

TEST(CollectiveFlows, SubGroupsRunRingsOfTheirOwn) {
  const Cluster cluster(dgx_h100(1));
  const std::vector<std::vector<std::vector<int>>> cases = {
      {{0, 1, 2, 3}, {4, 5, 6, 7}}, {{0, 2, 4, 6}, {1, 3, 5, 7}}, {{7, 0}, {3, 4}}};
  for (const auto& groups : cases) {
    std::vector<GroupCollective> all;
    for (const std::vector<int>& gpus : groups) {
      all.push_back(group_collective("ring", {}, static_cast<std::int64_t>(gpus.size()) * 360'000, gpus));
    }
    const std::int64_t others = static_cast<std::int64_t>(groups[0].size()) - 1;
    for (const std::int64_t end : run_collectives(cluster, all).end_ns) EXPECT_EQ(end, 2 * others * 1'600);
  }
}

/// Groups of one domain, of two, of three unequal ones, and of one rank in each of four.
std::vector<std::vector<int>> group_shapes() {
  return {gpu_range(0, 8), gpu_range(0, 16), gpu_range(4, 20), {0, 8, 16, 24}};
}

// No link can carry more than its capacity, with any number of slots.
TEST(CollectiveFlows, EveryAlgorithmEndsNoSoonerThanItsBusiestLink) {
  const Cluster cluster(dgx_h100(4));
  const std::vector<hw_models::BytesPerSecond> capacities = cluster_links(cluster);
  int runs = 0;
  for (const strategies::CollectiveAlgorithm& algorithm : strategies::collective_algorithms()) {
    for (const ExchangeKind kind : algorithm.serves) {
      for (const std::vector<int>& gpus : group_shapes()) {
        const GroupCollective one{&algorithm, {kind, 0, 1, 2, 3}, hw_models::Bytes(1 << 24), gpus};
        if (!refusal(algorithm, one.exchange, group_domains(cluster, gpus), {true, true}).empty()) continue;
        SCOPED_TRACE(testing::Message() << algorithm.name << ' ' << name(kind) << ", " << gpus.size() << " ranks");
        double busiest_ns = 0;
        for (const LinkUse& use : coupled_collective(cluster, one).uses) {
          busiest_ns = std::max(busiest_ns, use.factor * (1 << 24) / capacities[use.link].value() * 1e9);
        }
        for (const std::uint32_t slots : {1U, 8U}) {
          EXPECT_GE(static_cast<double>(run_collectives(cluster, {&one, 1}, slots).end_ns[0]) + 1, busiest_ns);
        }
        ++runs;
      }
    }
  }
  EXPECT_GE(runs, 50);
}

strategies::CollectiveAlgorithm made_of(std::vector<Step> (*steps)(const Exchange&, const strategies::GroupDomains&,
                                                                   int)) {
  static constexpr std::array kServed = {kAllReduce};
  return {.name = "made up", .summary = "", .source = "", .serves = kServed, .needs = {}, .steps = steps};
}

TEST(CollectiveFlows, AReceiveWithoutASendIsAnError) {
  const auto receives = [](const Exchange&, const strategies::GroupDomains&, int member) {
    std::vector<Step> steps;
    if (member == 0) steps.push_back({StepKind::kReceive, 0, 0, 1, 0, {}, {}});
    return steps;
  };
  const auto sends = [](const Exchange&, const strategies::GroupDomains&, int member) {
    std::vector<Step> steps;
    if (member == 1) steps.push_back({StepKind::kSend, 0, 0, 0, 0, {}, {}});
    return steps;
  };
  const Cluster cluster(dgx_h100(1));
  for (const strategies::CollectiveAlgorithm& algorithm : {made_of(receives), made_of(sends)}) {
    const GroupCollective one{&algorithm, {}, hw_models::Bytes(1'000), {0, 1}};
    EXPECT_THROW(run_collectives(cluster, {&one, 1}), std::runtime_error);
  }
  const GroupCollective ring = group_collective("ring", {}, 1'000, {0, 1});
  EXPECT_THROW(run_collectives(cluster, {&ring, 1}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace sim
