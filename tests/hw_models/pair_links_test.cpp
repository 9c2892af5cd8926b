#include "hw_models/pair_links.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

double ring(const NodeSpec& node, const std::vector<int>& members) {
  return linked_ring_bandwidth(node, members).value() / 1e9;
}

NodeSpec linked(int gpus, const std::vector<PairLink>& links) {
  NodeSpec node;
  node.gpus = node.scale_up_domain = gpus;
  node.scale_up = ScaleUpKind::kLinks;
  node.links = links;
  return node;
}

PairLink link(int a, int b, double gigabytes) { return {a, b, BytesPerSecond(gigabytes * 1e9)}; }

TEST(PairLinks, LinksAndRelaysOfTheCubeMesh) {
  const NodeSpec node = examples::cube_mesh(1).node;
  EXPECT_DOUBLE_EQ(link_between(node, 3, 0)->bandwidth.value(), 50e9);
  EXPECT_EQ(link_between(node, 0, 5), nullptr);
  EXPECT_EQ(link_between(node, 2, 2), nullptr);
  EXPECT_EQ(relay_between(node, 0, 7), 4);  // 50 and 50; over 3: 50 and 25
  EXPECT_EQ(relay_between(node, 0, 5), 1);  // over 1 and over 4 25 GB/s: the lower
  EXPECT_EQ(relay_between(linked(4, {link(0, 1, 25)}), 1, 2), -1);
}

// Hand-solved. Cube: 0-3-2-1-5-6-7-4 over double links and 0-1-3-7-5-4-6-2 over single ones, each both ways.
TEST(PairLinks, RingsByHand) {
  const NodeSpec cube = examples::cube_mesh(1).node;
  EXPECT_DOUBLE_EQ(ring(cube, {0, 1, 2, 3, 4, 5, 6, 7}), 2 * (50 + 25));
  EXPECT_DOUBLE_EQ(ring(cube, {4, 5, 6, 7}), 2 * (25 + 25));  // 4-5-6-7 and 4-6-5-7, each as narrow as one link
  EXPECT_DOUBLE_EQ(ring(cube, {2, 3, 6, 7}), 2 * 25);
  EXPECT_DOUBLE_EQ(ring(cube, {1, 2}), 50);
  EXPECT_DOUBLE_EQ(ring(cube, {0, 5}), 0);
  EXPECT_DOUBLE_EQ(ring(cube, {0, 1, 5}), 0);
  EXPECT_DOUBLE_EQ(ring(cube, {3}), 0);
  // A triangle with unequal sides is as wide as its narrowest.
  EXPECT_DOUBLE_EQ(ring(linked(3, {link(0, 1, 30), link(1, 2, 20), link(2, 0, 10)}), {0, 1, 2}), 2 * 10);
}

// MI250X: modules of two dies with 4 links inside and one to each neighbouring module; 16 dies in one ring.
TEST(PairLinks, SixteenDiesInARing) {
  std::vector<PairLink> links;
  for (int gpu = 0; gpu < kMostLinkedGpus; ++gpu) {
    links.push_back(link(gpu, (gpu + 1) % kMostLinkedGpus, gpu % 2 == 0 ? 200 : 50));
  }
  std::vector<int> all(kMostLinkedGpus);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_DOUBLE_EQ(ring(linked(kMostLinkedGpus, links), all), 2 * 50);
  links.pop_back();  // an open chain has no ring
  EXPECT_DOUBLE_EQ(ring(linked(kMostLinkedGpus, links), all), 0);
}

// No GPU sends more than its links carry, whatever the members.
TEST(PairLinks, NoRingExceedsTheLinksOfAMember) {
  const NodeSpec node = examples::cube_mesh(1).node;
  for (unsigned subset = 1; subset < 256; ++subset) {
    std::vector<int> members;
    for (int gpu = 0; gpu < 8; ++gpu) {
      if ((subset >> gpu & 1U) != 0) members.push_back(gpu);
    }
    for (const int gpu : members) {
      double own = 0;
      for (const int other : members) {
        const PairLink* joined = link_between(node, gpu, other);
        own += joined == nullptr ? 0 : joined->bandwidth.value() / 1e9;
      }
      EXPECT_LE(ring(node, members), own) << subset;
    }
  }
}

}  // namespace
}  // namespace hw_models
