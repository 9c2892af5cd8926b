#include "hw_models/nccl/cost.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/hw_models/nccl/nccl_groups.h"

namespace hw_models {
namespace {

using A = NcclAlgorithm;
using P = NcclProtocol;
constexpr double kMiB = 1 << 20, kGiB = 1 << 30;

struct CostCase {
  const char* what;
  Operation operation;
  A algorithm;
  P protocol;
  int domains;
  double base, intra, inter, bus;  ///< us, GB/s
  double ratio;                    ///< algorithm over bus bandwidth
};

// Constants of the tuning table; 14 steps on 8 ranks, 30 on 16, of which 2 leave the node.
std::vector<CostCase> cost_cases() {
  const Operation reduce = Operation::kAllReduce, gather = Operation::kAllGather;
  const double ring8 = 8.0 / 14, ring16 = 16.0 / 30;
  return {
      {"ring LL: ceiling 141", reduce, A::kRing, P::kLl, 1, 6.6, 14 * 0.6, 0, 141, ring8},
      {"ring LL128: 0.92", reduce, A::kRing, P::kLl128, 1, 14, 14 * 1.9, 0, 0.92 * 360, ring8},
      {"ring Simple", reduce, A::kRing, P::kSimple, 1, 8.4, 14 * 3.4, 0, 360, ring8},
      {"all-gather: half the steps", gather, A::kRing, P::kSimple, 1, 8.4, 7 * 3.4, 0, 360, 8.0 / 7},
      {"tree LL: 1/3.8", reduce, A::kTree, P::kLl, 1, 6.8, 14 * 0.6, 0, 0.92 * 360 / 3.8, 0.5},
      {"tree LL128: 7/9", reduce, A::kTree, P::kLl128, 1, 14, 14 * 1.25, 0, 0.92 * 360 * 7 / 9, 0.5},
      {"NVLS: 8 channels of 40", reduce, A::kNvls, P::kSimple, 1, 0, 25, 0, 476, ring8},
      {"NVLS gathers without the factor 2", gather, A::kNvls, P::kSimple, 1, 0, 25, 0, 320 * 0.85 * 7 / 8 * 7 / 8,
       8.0 / 7},
      {"ring LL on two nodes: 39", reduce, A::kRing, P::kLl, 2, 6.6, 28 * 1.0, 2 * 2.7, 39, ring16},
      {"tree on two nodes: NICs count twice", reduce, A::kTree, P::kLl128, 2, 14, 14 * 1.25, 2 * 8.5,
       0.92 * 360 * 120 / 128, 0.5},
      {"NVLS tree on two nodes: ceiling 57.7", reduce, A::kNvlsTree, P::kSimple, 2, 0, 25, 2 * 20.9, 8 * 57.7, ring16},
      {"NVLS tree on four nodes: ceiling 45.5", reduce, A::kNvlsTree, P::kSimple, 4, 0, 25, 4 * 20.9, 8 * 45.5,
       32.0 / 62},
  };
}

TEST(NcclCost, ByHand) {
  const NcclSystem system = examples::hopper_system();
  for (const CostCase& c : cost_cases()) {
    SCOPED_TRACE(c.what);
    const GroupLayout layout = examples::hopper_layout(c.domains);
    const auto cost = nccl_cost(c.operation, c.algorithm, c.protocol, 1, {system, layout, true});
    ASSERT_TRUE(cost);
    EXPECT_NEAR(cost->base, c.base, 1e-9);
    EXPECT_NEAR(cost->intra, c.intra, 1e-9);
    EXPECT_NEAR(cost->inter, c.inter, 1e-9);
    EXPECT_NEAR(cost->bandwidth, c.bus * c.ratio, 1e-6);
  }
}

// The last piece of a turn over d domains of several ranks has crossed d times, with one rank each d - 1 times.
TEST(NcclCost, TheLastPieceOfARing) {
  const NcclSystem system = examples::hopper_system();
  const auto cost = [&](const GroupLayout& layout) {
    return *nccl_cost(Operation::kAllGather, A::kRing, P::kSimple, 1, {system, layout, true});
  };
  const NcclCost four = cost(examples::hopper_layout(4)), node = cost(examples::hopper_layout(1));
  EXPECT_NEAR(four.inter, 3 * 14, 1e-9);
  EXPECT_NEAR(four.late_inter, 4 * 14, 1e-9);
  EXPECT_NEAR(four.intra, 28 * 3.4, 1e-9);
  EXPECT_NEAR(four.late_intra, 27 * 3.4, 1e-9);
  EXPECT_EQ(node.late_intra, node.intra);
  const NcclCost single = cost(examples::hopper_layout(4, 1));
  EXPECT_NEAR(single.late_inter, 3 * 14, 1e-9);
  EXPECT_EQ(single.late_intra, 0);
}

TEST(NcclCost, PlateauOfRingsOverSeveralNodes) {
  const NcclSystem system = examples::hopper_system();
  const GroupLayout layout = examples::hopper_layout(2);
  const auto at = [&](double bytes) {
    return *nccl_cost(Operation::kAllReduce, A::kRing, P::kSimple, bytes, {system, layout, true});
  };
  const double edge = 64.0 * 24 * 16;  // 64 bytes per channel and rank
  EXPECT_NEAR(at(edge - 1).intra, 28 * 3.4, 1e-9);
  EXPECT_NEAR(at(edge).intra, 1.4 * 28 * 3.4, 1e-9);
  EXPECT_NEAR(at(edge).inter, 1.4 * 2 * 14, 1e-9);
}

TEST(NcclCost, TreesAreSlowerAtMediumSizes) {
  const NcclSystem system = examples::hopper_system();
  const GroupLayout layout = examples::hopper_layout(2);
  const auto factor = [&](P protocol, double bytes) {
    return nccl_cost(Operation::kAllReduce, A::kTree, protocol, bytes, {system, layout, true})->size_factor;
  };
  EXPECT_EQ(factor(P::kLl, 64), 1);
  EXPECT_EQ(factor(P::kLl, 64 << 11), 0.5);
  EXPECT_EQ(factor(P::kLl, (64 << 12) - 1), 0.5);
  EXPECT_EQ(factor(P::kSimple, kMiB), 0.5);
  EXPECT_EQ(factor(P::kSimple, 2 * kGiB), 1);
  EXPECT_EQ(factor(P::kSimple, 8), 1);
}

struct Offer {
  const char* what;
  Operation operation;
  A algorithm;
  P protocol;
  int domains, per_domain;
  bool reducible, sharp, offered;
};

TEST(NcclCost, WhatIsOffered) {
  const Operation reduce = Operation::kAllReduce, gather = Operation::kAllGather, cast = Operation::kBroadcast;
  const std::vector<Offer> offers{
      {"NVLS on a node", reduce, A::kNvls, P::kSimple, 1, 8, true, false, true},
      {"not with two GPUs", reduce, A::kNvls, P::kSimple, 1, 2, true, false, false},
      {"switches cannot add int8", reduce, A::kNvls, P::kSimple, 1, 8, false, false, false},
      {"but gather it", gather, A::kNvls, P::kSimple, 1, 8, false, false, true},
      {"nor with LL", reduce, A::kNvls, P::kLl, 1, 8, true, false, false},
      {"NVLS over nodes needs SHARP", reduce, A::kNvls, P::kSimple, 2, 8, true, false, false},
      {"with it", reduce, A::kNvls, P::kSimple, 2, 8, true, true, true},
      {"NVLS tree does not", reduce, A::kNvlsTree, P::kSimple, 2, 8, true, false, true},
      {"no NVLS tree on one node", reduce, A::kNvlsTree, P::kSimple, 1, 8, true, false, false},
      {"trees only all-reduce", gather, A::kTree, P::kLl, 2, 8, true, false, false},
      {"broadcast is a ring", cast, A::kRing, P::kSimple, 2, 8, true, false, true},
      {"PAT with one GPU per node", gather, A::kPat, P::kSimple, 4, 1, true, false, true},
      {"not with more", gather, A::kPat, P::kSimple, 4, 8, true, false, false},
      {"CollNet needs SHARP", reduce, A::kCollNetDirect, P::kSimple, 2, 8, true, false, false},
      {"has it", reduce, A::kCollNetChain, P::kSimple, 2, 8, true, true, true},
      {"all-to-all is no collective of NCCL", Operation::kAllToAll, A::kRing, P::kSimple, 1, 8, true, false, false},
      {"one rank", reduce, A::kRing, P::kLl, 1, 1, true, false, false},
  };
  for (const Offer& o : offers) {
    NcclSystem system = examples::hopper_system();
    system.sharp = o.sharp;
    const GroupLayout layout = examples::hopper_layout(o.domains, o.per_domain);
    EXPECT_EQ(nccl_cost(o.operation, o.algorithm, o.protocol, kMiB, {system, layout, o.reducible}).has_value(),
              o.offered)
        << o.what;
  }
}

TEST(NcclCost, TheFastestThatIsAllowedIsChosen) {
  const NcclSystem system = examples::hopper_system();
  const GroupLayout node = examples::hopper_layout(1), two = examples::hopper_layout(2);
  const auto chosen = [&](const GroupLayout& layout, double bytes, const NcclChoice& choice = {}) {
    return nccl_choose(Operation::kAllReduce, bytes, {system, layout, true}, choice)->algorithm;
  };
  EXPECT_EQ(chosen(node, 8), A::kRing);
  EXPECT_EQ(chosen(node, kGiB), A::kNvls);
  EXPECT_EQ(chosen(two, 8), A::kTree);
  EXPECT_EQ(chosen(two, kGiB), A::kNvlsTree);
  NcclChoice rings;
  rings.algorithms = *parse_nccl_algorithms("Ring");
  EXPECT_EQ(chosen(two, kGiB, rings), A::kRing);
  NcclChoice none;
  none.algorithms = *parse_nccl_algorithms("PAT");
  EXPECT_FALSE(nccl_choose(Operation::kAllReduce, 8, {system, two, true}, none));
  for (double bytes = 8; bytes < 64 * kGiB; bytes *= 2) {
    const NcclGroup group{system, two, true};
    const NcclCost best = *nccl_choose(Operation::kAllReduce, bytes, group);
    for (const A algorithm : kNcclAlgorithms) {
      for (const P protocol : kNcclProtocols) {
        const auto other = nccl_cost(Operation::kAllReduce, algorithm, protocol, bytes, group);
        EXPECT_TRUE(!other || best.time(bytes) <= other->time(bytes));
      }
    }
  }
}

}  // namespace
}  // namespace hw_models
