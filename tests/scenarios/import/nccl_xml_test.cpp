#include "scenarios/import/nccl_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "scenarios/import/read_topology.h"
#include "scenarios/load/diagnostics.h"
#include "tests/scenarios/import/topology_files.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

NodeTopology of_devices(const std::string& devices) {
  return parse_nccl_xml("<system version=\"1\"><cpu numaid=\"0\">" + devices + "</cpu></system>", "topo.xml");
}

TEST(NcclXml, ReadsTreeLinksAndAffinity) {
  const NodeTopology topology = two_sockets();
  const std::vector<int> gpus = topology.all(TopologyKind::kGpu), nics = topology.all(TopologyKind::kNic);
  ASSERT_EQ(gpus.size(), 4U);
  ASSERT_EQ(nics.size(), 4U);
  EXPECT_EQ(topology.at(gpus[1]).name, "GPU1");
  EXPECT_EQ(topology.at(gpus[1]).id, "0000:14:00.0");
  EXPECT_EQ(topology.at(gpus[1]).model, "h100-sxm-80gb");
  EXPECT_EQ(topology.at(nics[2]).name, "NIC2 (mlx5_3)");
  EXPECT_DOUBLE_EQ(topology.at(nics[2]).rate->value(), 50e9);    // 400,000 Mb/s
  EXPECT_DOUBLE_EQ(topology.at(gpus[0]).uplink->value(), 48e9);  // x16 of 240 x 100 Mb/s a lane = 48 GB/s
  EXPECT_EQ(topology.path(gpus[0], gpus[3]), PathClass::kScaleUp);
  EXPECT_EQ(topology.pcie_path(gpus[0], gpus[1]), PathClass::kPxb);
  EXPECT_EQ(topology.pcie_path(gpus[2], nics[2]), PathClass::kPhb);
  EXPECT_THAT(topology.nearest_nics(gpus[1]), ElementsAre(nics[1]));
  EXPECT_THAT(topology.nearest_nics(gpus[3]), ElementsAre(nics[2], nics[3]));
}

TEST(NcclXml, LinksToSwitchesAreOneLink) {
  const NodeTopology topology = two_sockets();
  ASSERT_EQ(topology.scale_up.size(), 4U);
  EXPECT_EQ(topology.scale_up[0].b, ScaleUpLink::kSwitches);
  EXPECT_EQ(topology.scale_up[0].lanes, 18);
  EXPECT_DOUBLE_EQ(topology.scale_up[0].bandwidth->value(), 18 * 20.6e9);
}

TEST(NcclXml, AbsurdLinksAreUnknownAndNoted) {
  const NodeTopology topology = two_sockets();
  EXPECT_FALSE(topology.at(topology.children(topology.all(TopologyKind::kPcieSwitch)[0])[2]).uplink);
  EXPECT_THAT(topology.notes, ElementsAre("PCIe '2.5 GT/s PCIe' x1 of 1 devices is taken as unknown"));
}

TEST(NcclXml, SpellingsOfTheSameRate) {
  for (const char* speed : {"16 GT/s", "16.0 GT/s", "16.0 GT/s PCIe", "16 GT/s PCIe/s"}) {
    const NodeTopology topology =
        of_devices(std::string("<pci busid=\"1\" class=\"0x030200\" link_speed=\"") + speed + "\" link_width=\"16\"/>");
    ASSERT_TRUE(topology.devices[1].uplink) << speed;
    EXPECT_DOUBLE_EQ(topology.devices[1].uplink->value(), 24e9) << speed;
  }
}

TEST(NcclXml, FilesWithoutGpuElementsAreToldByClass) {
  const NodeTopology topology = of_devices(
      "<pci busid=\"1\" class=\"0x030200\"/><pci busid=\"2\" class=\"0x120000\"/><pci busid=\"3\" class=\"0x020700\"/>"
      "<pci busid=\"4\" class=\"0x020000\"/><pci busid=\"5\" class=\"0x060400\"/><pci busid=\"6\"/>");
  EXPECT_EQ(topology.all(TopologyKind::kGpu).size(), 2U);
  EXPECT_EQ(topology.all(TopologyKind::kNic).size(), 2U);
  EXPECT_EQ(topology.all(TopologyKind::kPcieSwitch).size(), 1U);
  EXPECT_EQ(topology.all(TopologyKind::kUnknown).size(), 1U);
  EXPECT_THAT(topology.notes, ElementsAre(HasSubstr("1 devices without a class")));
}

TEST(NcclXml, PairsAreListedOnceAndDirtyLinksLeftOut) {
  const NodeTopology topology = of_devices(
      "<pci busid=\"a\" class=\"0x1200\"><gpu dev=\"0\" gcn=\"gfx942\"><xgmi target=\"b\" count=\"1\"/>"
      "<xgmi target=\"a\" count=\"1\"/><xgmi target=\"zz\" count=\"1\"/></gpu></pci>"
      "<pci busid=\"b\" class=\"0x1200\"><gpu dev=\"1\" gcn=\"gfx942\"><xgmi target=\"a\" count=\"1\"/></gpu></pci>");
  ASSERT_EQ(topology.scale_up.size(), 1U);
  EXPECT_DOUBLE_EQ(topology.scale_up[0].bandwidth->value(), 48e9);
  EXPECT_EQ(topology.notes.size(), 2U);
}

TEST(NcclXml, ASecondPortIsANicBesideTheFirst) {
  const NodeTopology topology = of_devices(
      "<pci busid=\"1\" class=\"0x030200\"/><pci busid=\"2\" class=\"0x020700\"><nic><net name=\"a\" speed=\"100000\"/>"
      "<net name=\"b\" speed=\"100000\"/></nic></pci>");
  const std::vector<int> nics = topology.all(TopologyKind::kNic);
  ASSERT_EQ(nics.size(), 2U);
  EXPECT_EQ(topology.at(nics[0]).parent, topology.at(nics[1]).parent);
}

TEST(NcclXml, RefusalsNameThePlaceAndTheWayOut) {
  EXPECT_EQ(topology_refusal("<graphs version=\"1\"></graphs>"),
            "topo:1:2: error: these are NCCL's search results (NCCL_GRAPH_FILE), not a topology\n"
            "  write the topology with NCCL_TOPO_DUMP_FILE=topo.xml\n");
  EXPECT_THAT(topology_refusal("<topology version=\"2.0\"/>"), HasSubstr("hwloc"));
  EXPECT_THAT(topology_refusal("<html/>"), HasSubstr("<html> is not a topology"));
  EXPECT_THAT(topology_refusal("<system version=\"1\">\n  <cpu numaid=\"0\">\n"),
              StartsWith("topo:2:19: error: not well"));
  EXPECT_THAT(topology_refusal("<!DOCTYPE a [<!ENTITY b \"c\">]><system/>"), HasSubstr("a document type"));
  EXPECT_THAT(topology_refusal("<system>\n <cpu>\n  <pci class=\"0x03\"/></cpu></system>"),
              StartsWith("topo:3:4: error: <pci> without busid"));
  EXPECT_THAT(topology_refusal("<system><gpu/></system>"), HasSubstr("<gpu> outside of <pci>"));
  EXPECT_THAT(topology_refusal("<system><cpu><pci busid=\"1\"/><pci busid=\"1\"/></cpu></system>"), HasSubstr("twice"));
  EXPECT_THAT(topology_refusal("<system><cpu/></system>"), HasSubstr("no GPU"));
  EXPECT_THAT(
      topology_refusal("<system><cpu><pci busid=\"1\" class=\"0x03\"><gpu><nvlink count=\"0\"/></gpu></pci></cpu>"
                       "</system>"),
      HasSubstr("0 links"));
}

TEST(NcclXml, HostileSizesAreRefused) {
  std::string deep = "<system>", many = "<system><cpu>";
  for (int i = 0; i < 100'000; ++i) deep += "<pci busid=\"" + std::to_string(i) + "\">";
  EXPECT_NE(topology_refusal(deep), "accepted");  // never closed
  for (int i = 0; i < 100'000; ++i) deep += "</pci>";
  EXPECT_THAT(topology_refusal(deep + "</system>"), HasSubstr("64 levels"));
  for (int i = 0; i < 10'001; ++i) many += "<x/>";
  EXPECT_THAT(topology_refusal(many + "</cpu></system>"), HasSubstr("10000 elements"));
}

// Real files, where they are at hand: every one is read but the one of another schema.
TEST(NcclXml, ReadsRealFiles) {
  const std::filesystem::path folder = TRAINYARD_SOURCE_DIR "/../shared/data/topo";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the real topologies are not here";
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().string();
    if (entry.path().extension() != ".xml") continue;
    if (file.ends_with("-graph.xml")) {
      EXPECT_THROW(read_topology(file), InputError);
      continue;
    }
    const NodeTopology topology = read_topology(file);
    const std::size_t gpus = topology.all(TopologyKind::kGpu).size() + topology.all(TopologyKind::kUnknown).size();
    EXPECT_TRUE(gpus == 4 || gpus >= 8) << file;
    ++read;
  }
  EXPECT_EQ(read, 14);
}

}  // namespace
}  // namespace scenarios
