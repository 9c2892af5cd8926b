#include "scenarios/import/node_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scenarios/import/read_topology.h"

namespace scenarios {
namespace {

using hw_models::ScaleUpKind;
using testing::ElementsAre;

NodeFigures figures_of(const std::string& text) { return node_figures(parse_topology(text, "given")); }
NodeFigures figures_in(const std::string& file) {
  return node_figures(read_topology(std::string(TRAINYARD_SOURCE_DIR) + "/tests/data/topology/" + file));
}

// GPU2 and GPU3 are equally near to NIC2 and NIC3, which the file lists the other way round: an even share, in order.
TEST(NodeFigures, OfAnXmlFile) {
  const NodeFigures node = figures_in("two-sockets.xml");
  EXPECT_EQ(node.gpus, 4);
  EXPECT_EQ(node.gpu, "h100-sxm-80gb");
  EXPECT_EQ(node.nics, 4);
  EXPECT_EQ(node.numa_domains, 2);
  EXPECT_DOUBLE_EQ(node.nic_bandwidth->value(), 50e9);
  EXPECT_DOUBLE_EQ(node.pcie_bandwidth->value(), 48e9);
  EXPECT_EQ(node.scale_up, ScaleUpKind::kSwitch);
  EXPECT_EQ(node.joints.size(), 4U);
  EXPECT_EQ(node.joints.front().lanes, 18);
  EXPECT_THAT(node.wiring.nics_of_gpu, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3)));
  // The outermost switch stands for those below it; what hangs on a CPU has a slot of its own.
  EXPECT_THAT(node.wiring.switch_of_gpu, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(node.wiring.switch_of_nic, ElementsAre(0, 0, 3, 4));
  EXPECT_THAT(node.wiring.host_of_switch, ElementsAre(0, 1, 1, 1, 1));
}

TEST(NodeFigures, OfAMatrix) {
  const NodeFigures node = figures_in("crossed-rails.txt");
  EXPECT_EQ(node.gpu, "");
  EXPECT_EQ(node.nic_bandwidth, std::nullopt);
  EXPECT_EQ(node.pcie_bandwidth, std::nullopt);
  EXPECT_EQ(node.scale_up, ScaleUpKind::kSwitch);
  EXPECT_THAT(node.wiring.nics_of_gpu, ElementsAre(ElementsAre(1), ElementsAre(0), ElementsAre(2), ElementsAre(3)));
}

// NIC2 is for storage: no GPU is near to it. GPU2 has no NIC on its socket and takes what all of them are as far from.
TEST(NodeFigures, NicsThatNoGpuIsNearToAreLeftOut) {
  const NodeFigures node = figures_of(
      "     GPU0 GPU1 NIC0 NIC1 NIC2\n"
      "GPU0 X    SYS  PIX  PIX  NODE\n"
      "GPU1 SYS  X    SYS  SYS  PIX\n"
      "NIC0 PIX  SYS  X    PIX  NODE\n"
      "NIC1 PIX  SYS  PIX  X    NODE\n"
      "NIC2 NODE PIX  NODE NODE X\n");
  EXPECT_EQ(node.nics, 3);
  EXPECT_THAT(node.wiring.nics_of_gpu, ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  const NodeFigures storage = figures_of(
      "     GPU0 NIC0 NIC1\n"
      "GPU0 X    PIX  SYS\n"
      "NIC0 PIX  X    SYS\n"
      "NIC1 SYS  SYS  X\n");
  EXPECT_EQ(storage.nics, 1);
}

TEST(NodeFigures, FarGpusShareTheNicsThatAreEquallyFar) {
  const NodeFigures node = figures_of(
      "     GPU0 GPU1 GPU2 GPU3 NIC0 NIC1\n"
      "GPU0 X    NODE SYS  SYS  PIX  NODE\n"
      "GPU1 NODE X    SYS  SYS  NODE PIX\n"
      "GPU2 SYS  SYS  X    NODE SYS  SYS\n"
      "GPU3 SYS  SYS  NODE X    SYS  SYS\n");
  EXPECT_THAT(node.wiring.nics_of_gpu, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(node.wiring.host_of_switch, ElementsAre(0, 0, 1, 1));
}

struct KindCase {
  const char* what;
  const char* matrix;
  ScaleUpKind kind;
};

TEST(NodeFigures, KindOfScaleUp) {
  const KindCase cases[] = {
      {"PCIe", "GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n", ScaleUpKind::kNone},
      {"one pair", "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n", ScaleUpKind::kMesh},
      {"mesh", "GPU0 GPU1 GPU2\nGPU0 X NV2 NV2\nGPU1 NV2 X NV2\nGPU2 NV2 NV2 X\n", ScaleUpKind::kMesh},
      {"switches", "GPU0 GPU1 GPU2\nGPU0 X NV12 NV12\nGPU1 NV12 X NV12\nGPU2 NV12 NV12 X\n", ScaleUpKind::kSwitch},
      {"unequal", "GPU0 GPU1 GPU2\nGPU0 X NV1 NV2\nGPU1 NV1 X NV2\nGPU2 NV2 NV2 X\n", ScaleUpKind::kLinks},
      {"bridges",
       "GPU0 GPU1 GPU2 GPU3\nGPU0 X NV4 SYS SYS\nGPU1 NV4 X SYS SYS\nGPU2 SYS SYS X NV4\nGPU3 SYS SYS NV4 X\n",
       ScaleUpKind::kPairs},
      {"bridges across",
       "GPU0 GPU1 GPU2 GPU3\nGPU0 X SYS NV4 SYS\nGPU1 SYS X SYS NV4\nGPU2 NV4 SYS X SYS\nGPU3 SYS NV4 SYS X\n",
       ScaleUpKind::kLinks},
  };
  for (const KindCase& c : cases) EXPECT_EQ(figures_of(c.matrix).scale_up, c.kind) << c.what;
}

// A file written by hand names PCI devices only; a dump without links is a machine without.
TEST(NodeFigures, AFileThatLeavesLinksToNcclTellsNone) {
  const std::string gpu = R"(<pci busid="1" class="0x030200" link_speed="16 GT/s" link_width="16">)";
  const std::string by_hand = R"(<system version="1"><cpu numaid="0">)" + gpu + "</pci></cpu></system>";
  const std::string dump =
      R"(<system version="1"><cpu numaid="0">)" + gpu + R"(<gpu dev="0" sm="80"/></pci></cpu></system>)";
  EXPECT_EQ(figures_of(by_hand).scale_up, std::nullopt);
  EXPECT_EQ(figures_of(dump).scale_up, ScaleUpKind::kNone);
}

}  // namespace
}  // namespace scenarios
