#include "scenarios/import/topology_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "scenarios/import/read_topology.h"
#include "tests/scenarios/import/topology_files.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The printed matrix, read back from the tree that was rebuilt from it.
TEST(TopologyMatrix, TheTreeReproducesTheDistances) {
  const NodeTopology topology = crossed_cards();
  const std::vector<int> gpus = topology.all(TopologyKind::kGpu), nics = topology.all(TopologyKind::kNic);
  ASSERT_EQ(gpus.size(), 4U);
  ASSERT_EQ(nics.size(), 4U);
  const PathClass expected[4][4] = {{PathClass::kNode, PathClass::kPix, PathClass::kSys, PathClass::kSys},
                                    {PathClass::kPxb, PathClass::kNode, PathClass::kSys, PathClass::kSys},
                                    {PathClass::kSys, PathClass::kSys, PathClass::kPix, PathClass::kNode},
                                    {PathClass::kSys, PathClass::kSys, PathClass::kNode, PathClass::kPix}};
  for (std::size_t g = 0; g < 4; ++g) {
    for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(topology.path(gpus[g], nics[n]), expected[g][n]) << g << " " << n;
  }
  EXPECT_THAT(topology.nearest_nics(gpus[0]), ElementsAre(nics[1]));
  EXPECT_EQ(topology.at(nics[0]).name, "NIC0 (mlx5_0)");
  EXPECT_EQ(topology.all(TopologyKind::kCpu).size(), 2U);
}

TEST(TopologyMatrix, MoreLanesThanAGpuHasForPairsAreSwitches) {
  const NodeTopology topology = crossed_cards();
  ASSERT_EQ(topology.scale_up.size(), 4U);
  for (const ScaleUpLink& link : topology.scale_up) EXPECT_EQ(link.b, ScaleUpLink::kSwitches);
}

TEST(TopologyMatrix, FewLanesAreLinksBetweenGpus) {
  const NodeTopology topology = parse_topology_matrix(
      "     GPU0 GPU1 GPU2 GPU3\nGPU0 X NV4 NV4 NV4\nGPU1 NV4 X NV4 NV4\nGPU2 NV4 NV4 X NV4\nGPU3 NV4 NV4 NV4 X\n",
      "m");
  EXPECT_EQ(topology.scale_up.size(), 6U);  // four A100, 4 lanes to each of three others
  for (const ScaleUpLink& link : topology.scale_up) EXPECT_EQ(link.lanes, 4);
}

TEST(TopologyMatrix, TerminalCodesOldNamesAndMissingRows) {
  const NodeTopology topology = parse_topology_matrix(
      "\x1b[4mGPU0\tGPU1\tmlx5_0\tmlx5_1\tCPU Affinity\x1b[0m\nGPU0\t X \tSYS\tPIX\tSYS\t0-15\nGPU1\tSYS\t X "
      "\tSYS\tPXB\t16-31\n",
      "m");
  const std::vector<int> nics = topology.all(TopologyKind::kNic);
  ASSERT_EQ(nics.size(), 2U);
  EXPECT_EQ(topology.at(nics[1]).name, "NIC1 (mlx5_1)");
  EXPECT_EQ(topology.path(0, nics[0]), PathClass::kPix);
  EXPECT_EQ(topology.path(1, nics[1]), PathClass::kPxb);
  EXPECT_THAT(topology.notes, ElementsAre(HasSubstr("rows mlx5_0 to mlx5_1 are missing")));
}

TEST(TopologyMatrix, RocmSmi) {
  const NodeTopology topology = parse_topology_matrix(
      "===== Link Type between two GPUs =====\n       GPU0         GPU1         GPU2\nGPU0   0            XGMI         "
      "PCIE\n"
      "GPU1   XGMI         0            XGMI\nGPU2   PCIE         XGMI         0\n==== End ====\n",
      "m");
  EXPECT_EQ(topology.source, "rocm-smi --showtopotype");
  EXPECT_EQ(topology.scale_up.size(), 2U);
}

TEST(TopologyMatrix, RefusalsNameThePlaceAndTheWayOut) {
  EXPECT_EQ(topology_refusal("hello\n"),
            "topo:1:1: error: no matrix of GPUs found\n  pass the whole output of nvidia-smi topo -m\n");
  EXPECT_EQ(topology_refusal(""),
            "topo:1:1: error: no matrix of GPUs found\n  pass the whole output of nvidia-smi topo -m\n");
  EXPECT_EQ(topology_refusal("     GPU0 GPU1\nGPU0 X NVX\nGPU1 NVX X\n"),
            "topo:2:8: error: unknown word 'NVX'\n  cells are X, NV1 to NV99, XGMI, PIX, PXB, PHB, NODE or SYS\n");
  EXPECT_THAT(topology_refusal("     GPU0 GPU1\nGPU0 X\n"), StartsWith("topo:2:1: error: row GPU0 has 1 cells"));
  EXPECT_THAT(topology_refusal("     GPU0 GPU1\nGPU0 X SYS\n"), HasSubstr("row GPU1 is missing"));
  EXPECT_THAT(topology_refusal("     GPU0 GPU0\nGPU0 X SYS\n"), HasSubstr("column GPU0 stands twice"));
  EXPECT_THAT(topology_refusal("     GPU0 GPU1\nGPU0 SYS X\n"), HasSubstr("diagonal"));
}

TEST(TopologyMatrix, ReadsRealOutput) {
  const std::filesystem::path folder = TRAINYARD_SOURCE_DIR "/../shared/data/topo_m";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the real captures are not here";
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") continue;
    const NodeTopology topology = read_topology(entry.path().string());
    const std::size_t gpus = topology.all(TopologyKind::kGpu).size();
    EXPECT_TRUE(gpus == 2 || gpus == 4 || gpus == 8) << entry.path();
    ++read;
  }
  EXPECT_EQ(read, 11);
}

}  // namespace
}  // namespace scenarios
