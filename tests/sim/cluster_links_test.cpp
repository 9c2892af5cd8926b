#include "sim/cluster_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/network_clusters.h"

namespace sim {
namespace {

using hw_models::Cluster;

using Stops = std::vector<std::pair<std::string, double>>;

/// The devices that a path comes to, and the capacities of the links it takes.
Stops stops(const Cluster& cluster, const LinkPath& path) {
  const std::vector<hw_models::BytesPerSecond> capacities = cluster_links(cluster);
  Stops result;
  for (const LinkUse& use : path.uses) {
    const hw_models::Link& link = cluster.link({use.link / 2});
    result.emplace_back(cluster.name(use.link % 2 == 0 ? link.b : link.a), capacities[use.link].value());
  }
  return result;
}

TEST(ClusterLinks, PathsRunThroughTheGraphAtPayloadRates) {
  const Cluster cluster(dgx_h100(2));
  const LinkPath inside = path_between(cluster, 0, 7);
  EXPECT_EQ(inside.latency_ns, 600);
  ASSERT_EQ(inside.uses.size(), 2U);
  for (const auto& [stop, rate] : stops(cluster, inside)) EXPECT_DOUBLE_EQ(rate, 360e9) << stop;

  // Four PCIe hops, two NIC ports of half an endpoint and half a switch each.
  const LinkPath rail = path_between(cluster, 0, 8);
  EXPECT_EQ(rail.latency_ns, 4 * 400 + 1'000 + 200);
  const Stops passed = stops(cluster, rail);
  ASSERT_EQ(passed.size(), 6U);
  EXPECT_EQ(passed.back().first, cluster.name(cluster.gpu(8)));
  for (std::size_t i = 0; i < passed.size(); ++i) {
    EXPECT_DOUBLE_EQ(passed[i].second, i == 2 || i == 3 ? 46e9 : 50e9) << passed[i].first;
  }
  // Another rail: two switches more. The leaf's uplink carries what its two nodes' NICs do.
  const LinkPath across = path_between(cluster, 7, 8);
  EXPECT_EQ(across.latency_ns, rail.latency_ns + 400);
  EXPECT_DOUBLE_EQ(stops(cluster, across)[3].second, 2 * 46e9);
}

TEST(ClusterLinks, DirectionsHaveLinksOfTheirOwn) {
  const Cluster cluster(dgx_h100(2));
  const auto links = [](const LinkPath& path) {
    std::vector<LinkIndex> result;
    for (const LinkUse& use : path.uses) result.push_back(use.link);
    return result;
  };
  for (const int to : {3, 8, 11}) {
    const LinkPath there = path_between(cluster, 0, to), back = path_between(cluster, to, 0);
    EXPECT_EQ(links(reversed(there)), links(back));
    for (const LinkIndex link : links(there)) EXPECT_EQ(std::ranges::count(links(back), link), 0);
  }
}

TEST(ClusterLinks, SwitchesAndFabricEndPathsOfTheirOwn) {
  const Cluster cluster(dgx_h100(2));
  EXPECT_EQ(path_to_switch(cluster, 3, 5).uses.size(), 1U);
  EXPECT_EQ(path_to_switch(cluster, 3, 5).latency_ns, 300);
  EXPECT_EQ(path_to_fabric(cluster, 3, 11).uses.size(), 3U);
  EXPECT_EQ(path_to_fabric(cluster, 3, 11).latency_ns, 2 * 400 + 600);
  EXPECT_THROW(path_to_switch(cluster, 3, 11), std::invalid_argument);
  EXPECT_THROW(path_to_fabric(cluster, 3, 5), std::invalid_argument);
}

TEST(ClusterLinks, GpusStripeOverTheirNics) {
  const Cluster cluster(four_nics_each(2));
  const Stops passed = stops(cluster, path_between(cluster, 0, 15));
  ASSERT_EQ(passed.size(), 8U);
  const std::vector<double> rates = {50e9, 4 * 50e9, 50e9, 100e9, 100e9, 50e9, 4 * 50e9, 50e9};
  for (std::size_t i = 0; i < passed.size(); ++i) EXPECT_DOUBLE_EQ(passed[i].second, rates[i]) << passed[i].first;
}

}  // namespace
}  // namespace sim
