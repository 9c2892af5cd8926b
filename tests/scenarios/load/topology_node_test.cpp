#include "scenarios/load/topology_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scenarios/load/load_scenario.h"

namespace scenarios {
namespace {

using hw_models::ScaleUpKind;
using testing::ElementsAre;
using testing::HasSubstr;

Scenario load(const std::string& node) {
  const std::string text =
      "model: llama3-8b\ntraining: {sequence_length: 4096, global_batch: 64}\ncluster:\n  node: {" + node +
      "}\n  nodes: 2\nplan: {zero: 1}\n";
  return load_scenario_text(text, "s.yaml", std::string(TRAINYARD_SOURCE_DIR) + "/tests/data/topology", Catalog(), {});
}

std::string refusal(const std::string& node) {
  try {
    load(node);
    return "accepted";
  } catch (const InputError& problem) {
    return problem.what();
  }
}

TEST(TopologyNode, AWholeFileNeedsNothingElse) {
  const Scenario scenario = load("topology: two-sockets.xml");
  const hw_models::NodeSpec& node = scenario.cluster.node;
  EXPECT_EQ(node.name, "two-sockets");
  EXPECT_EQ(scenario.gpu.name, "h100-sxm-80gb");
  EXPECT_EQ(node.gpus, 4);
  EXPECT_EQ(node.nics, 4);
  EXPECT_EQ(node.numa_domains, 2);
  EXPECT_DOUBLE_EQ(node.nic_bandwidth.value(), 50e9);
  EXPECT_DOUBLE_EQ(node.pcie_bandwidth.value(), 48e9);
  EXPECT_EQ(node.scale_up, ScaleUpKind::kSwitch);
  EXPECT_EQ(node.scale_up_domain, 4);
  EXPECT_DOUBLE_EQ(node.scale_up_bandwidth.value(), 18 * 25e9);  // nominal, as in the catalogue
  ASSERT_TRUE(node.wiring.has_value());
  EXPECT_THAT(node.wiring->switch_of_gpu, ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(scenario.cluster.fabric.name, "infiniband-ndr");
}

TEST(TopologyNode, TheBaseGivesWhatAMatrixDoesNotTell) {
  const Scenario scenario = load("base: dgx-h200, topology: crossed-rails.txt");
  const hw_models::NodeSpec& node = scenario.cluster.node;
  EXPECT_EQ(node.name, "dgx-h200");
  EXPECT_EQ(scenario.gpu.name, "h200-sxm");
  EXPECT_EQ(node.gpus, 4);  // the file's
  EXPECT_EQ(node.scale_up_domain, 4);
  EXPECT_DOUBLE_EQ(node.scale_up_bandwidth.value(), 450e9);
  EXPECT_DOUBLE_EQ(node.nic_bandwidth.value(), 50e9);
  EXPECT_DOUBLE_EQ(node.scale_up_latency.value(), Catalog().node("dgx-h200")->scale_up_latency.value());
  ASSERT_TRUE(node.wiring.has_value());
  EXPECT_THAT(node.wiring->nics_of_gpu, ElementsAre(ElementsAre(1), ElementsAre(0), ElementsAre(2), ElementsAre(3)));
}

TEST(TopologyNode, KeysOfTheScenarioWinOverTheFile) {
  const Scenario scenario = load("topology: two-sockets.xml, gpu: h200-sxm, nic_bandwidth: 200 Gb/s, name: mine");
  EXPECT_EQ(scenario.gpu.name, "h200-sxm");
  EXPECT_EQ(scenario.cluster.node.name, "mine");
  EXPECT_DOUBLE_EQ(scenario.cluster.node.nic_bandwidth.value(), 25e9);
  const Scenario unlinked = load("topology: two-sockets.xml, scale_up: none");
  EXPECT_EQ(unlinked.cluster.node.scale_up, ScaleUpKind::kNone);
}

// What a base says of its own links does not mix with the file's.
TEST(TopologyNode, OfTheBaseOnlyLinksOfTheSameKindStay) {
  const Scenario scenario = load("base: dgx-1v, topology: two-sockets.xml, gpu: h100-sxm-80gb");
  EXPECT_EQ(scenario.cluster.node.scale_up, ScaleUpKind::kSwitch);
  EXPECT_TRUE(scenario.cluster.node.links.empty());
  EXPECT_DOUBLE_EQ(scenario.cluster.node.pair_bandwidth.value(), 450e9);
}

TEST(TopologyNode, RefusalsNameTheKeyToWrite) {
  EXPECT_THAT(refusal("topology: crossed-rails.txt"), HasSubstr("'cluster.node.gpu' is missing"));
  const std::string rates = refusal("topology: crossed-rails.txt, gpu: h100-sxm-80gb");
  EXPECT_THAT(rates, HasSubstr("'cluster.node.nic_bandwidth' is missing"));
  EXPECT_THAT(rates, HasSubstr("'cluster.node.pcie_bandwidth' is missing"));
  EXPECT_THAT(rates, testing::Not(HasSubstr("scale_up_bandwidth")));  // 18 links of Hopper
  EXPECT_THAT(refusal("topology: no-such.xml"),
              HasSubstr("s.yaml:4:20: error: cannot read the topology 'no-such.xml'"));
  EXPECT_THAT(refusal("topology: two-sockets.xml, gpus: 8"), HasSubstr("'gpus' beside 'topology', which tells it"));
  EXPECT_THAT(refusal("topology: two-sockets.xml, nics: 8"), HasSubstr("'nics' beside 'topology'"));
  EXPECT_THAT(refusal("topology: two-sockets.xml, base: dgx-h1000"), HasSubstr("did you mean 'dgx-h100'?"));
  EXPECT_THAT(refusal("topology: two-sockets.xml, gpuz: 8"), HasSubstr("unknown key"));
  EXPECT_THAT(refusal("topology: {a: 1}"), HasSubstr("s.yaml:4:20: error"));
}

}  // namespace
}  // namespace scenarios
