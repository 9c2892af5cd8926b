#include "scenarios/import/read_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/import/topology_files.h"

namespace scenarios {
namespace {

TEST(ReadTopology, TellsTheFormatByItsContent) {
  EXPECT_EQ(two_sockets().source, "NCCL topology file");
  EXPECT_EQ(crossed_cards().source, "nvidia-smi topo -m");
  EXPECT_EQ(parse_topology("\xEF\xBB\xBF\n  <system><cpu><pci busid=\"1\" class=\"0x03\"/></cpu></system>", "t").source,
            "NCCL topology file");
}

TEST(ReadTopology, RefusesBinaryFiles) {
  EXPECT_EQ(topology_refusal(std::string("GPU0\0", 5)),
            "topo: error: this is not a text file\n  pass topology XML or a printed matrix\n");
}

}  // namespace
}  // namespace scenarios
