#include "hw_models/nccl/group.h"

#include <gtest/gtest.h>

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

TEST(NcclGroup, TablesAreInTheOrderOfTheNames) {
  for (std::size_t i = 0; i < kNcclLatencies.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kNcclLatencies[i].algorithm), i);
    EXPECT_EQ(kNcclAlgorithms[i], kNcclLatencies[i].algorithm);
  }
}

}  // namespace
}  // namespace hw_models
