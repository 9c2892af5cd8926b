#include "hw_models/nccl/group.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/programs/cluster_examples.h"

namespace hw_models {
namespace {

TEST(NcclGroup, GenerationFollowsTheLinksUnlessSaid) {
  using namespace examples;
  EXPECT_EQ(nccl_generation(p4d(1).node), NcclGeneration::kAmpere);
  EXPECT_EQ(nccl_generation(dgx_h100(1).node), NcclGeneration::kHopper);
  EXPECT_EQ(nccl_generation(p6_b200(1).node), NcclGeneration::kBlackwell);
  EXPECT_EQ(nccl_generation(pcie_box(1).node), NcclGeneration::kPcie);
  for (const NcclGenerationFacts& known : kNcclGenerations) {
    NodeSpec node = dgx_h100(1).node;
    node.collective_generation = std::string(known.name);
    EXPECT_EQ(nccl_generation(node), known.generation);
    EXPECT_EQ(&facts(known.generation), &known);
  }
}

TEST(NcclGroup, CorrectionsOfTheCatalogueComeBeforeTheGenerations) {
  ClusterSpec cluster = examples::dgx_h100(2);
  const NcclSystem usual = nccl_system(cluster);
  EXPECT_EQ(usual.node.launch, facts(NcclGeneration::kHopper).correction.launch);
  EXPECT_EQ(usual.fabric.ramp, kUsualFabricCorrection.ramp);
  EXPECT_TRUE(usual.nvls);
  cluster.node.collectives = NodeCorrection{Seconds(1e-6), 2, 0.5, Seconds(3e-6)};
  cluster.fabric.collectives = FabricCorrection{Seconds(4e-6), 5, Seconds(6e-6)};
  const NcclSystem own = nccl_system(cluster);
  EXPECT_EQ(own.node.step, 2);
  EXPECT_EQ(own.fabric.step, 5);
  EXPECT_FALSE(nccl_system(examples::p4d(1)).nvls);
  EXPECT_EQ(nccl_system(examples::p4d(1)).gpus_per_nic, 2);
}

TEST(NcclGroup, UnlikeNodesAgreeOnWhatAllHave) {
  const auto system = [](const ClusterSpec& cluster) { return nccl_system(cluster); };
  const NcclSystem h100 = system(examples::dgx_h100(1)), a100 = system(examples::p4d(1));
  const NcclSystem b200 = system(examples::p6_b200(1)), pcie = system(examples::pcie_box(1));
  const NcclSystem both = joint(h100, a100);
  EXPECT_EQ(both.generation, NcclGeneration::kAmpere);
  EXPECT_FALSE(both.nvls);
  EXPECT_FALSE(both.ll128);
  EXPECT_TRUE(both.nvlink);
  EXPECT_EQ(both.gpus_per_nic, 2);
  EXPECT_EQ(both.node.launch, std::max(h100.node.launch, a100.node.launch));
  EXPECT_EQ(both.node.bandwidth, std::min(h100.node.bandwidth, a100.node.bandwidth));
  EXPECT_TRUE(joint(h100, b200).ll128);
  EXPECT_TRUE(joint(h100, b200).nvls);
  EXPECT_EQ(joint(pcie, h100).generation, NcclGeneration::kPcie);
  EXPECT_FALSE(joint(pcie, h100).nvlink);
  EXPECT_TRUE(joint(a100, a100).ll128);
  EXPECT_EQ(system(examples::h100_and_a100(1, 1)).generation, NcclGeneration::kAmpere);
}

TEST(NcclGroup, TablesAreInTheOrderOfTheNames) {
  for (std::size_t i = 0; i < kNcclLatencies.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kNcclLatencies[i].algorithm), i);
    EXPECT_EQ(kNcclAlgorithms[i], kNcclLatencies[i].algorithm);
  }
}

}  // namespace
}  // namespace hw_models
