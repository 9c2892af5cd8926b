#include "scenarios/report/topology_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/import/topology_files.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TopologyReport, TextShowsTreeLinksAndAffinity) {
  const std::string text = topology_text(two_sockets());
  EXPECT_THAT(text, HasSubstr("NCCL topology file: 4 GPUs, 4 NICs, 2 CPUs, 2 PCIe switches\n"));
  EXPECT_THAT(text,
              HasSubstr("\n    PCIe switch 1 [0000:13:00.0]\n      GPU1 h100-sxm-80gb [0000:14:00.0]  PCIe 48 GB/s\n"));
  EXPECT_THAT(text, HasSubstr("    4 x scale-up, GPU to switches, 18 lanes, 370.8 GB/s\n"));
  EXPECT_THAT(text, HasSubstr("\nGPU3  NIC2 (mlx5_3), NIC3 (mlx5_2)  PHB\n"));
}

TEST(TopologyReport, CrossedRails) {
  EXPECT_THAT(crossed_rails(two_sockets()), IsEmpty());  // GPU2 and GPU3 share cards
  EXPECT_THAT(crossed_rails(crossed_cards()), ElementsAre("GPU0 - NIC1 (mlx5_1)", "GPU1 - NIC0 (mlx5_0)"));
  EXPECT_THAT(topology_text(crossed_cards()), HasSubstr("GPU order is not NIC order: GPU0 - NIC1 (mlx5_1), GPU1"));
}

TEST(TopologyReport, JsonHoldsEveryDevice) {
  const nlohmann::json json = nlohmann::json::parse(topology_json(two_sockets()));
  EXPECT_EQ(json["devices"].size(), two_sockets().devices.size());
  EXPECT_EQ(json["scale_up"][0]["lanes"], 18);
  EXPECT_TRUE(json["scale_up"][0]["b"].is_null());
  EXPECT_EQ(json["affinity"][1]["nics"][0], "NIC1 (mlx5_1)");
  EXPECT_EQ(json["affinity"][1]["path"], "PIX");
}

TEST(TopologyReport, DotAndSvgDrawEveryDevice) {
  const NodeTopology topology = crossed_cards();
  const std::string dot = topology_dot(topology), svg = topology_svg(topology);
  for (const TopologyDevice& device : topology.devices) {
    EXPECT_THAT(dot, HasSubstr("[label=\"" + device.name + "\"]"));
    EXPECT_THAT(svg, HasSubstr("<title>" + device.name));
  }
  EXPECT_THAT(dot, HasSubstr("switches [label="));
  EXPECT_THAT(svg, HasSubstr("18 lanes per GPU"));
}

}  // namespace
}  // namespace scenarios
