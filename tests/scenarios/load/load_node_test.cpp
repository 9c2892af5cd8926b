#include "tests/scenarios/load/catalog_entry_cases.h"

namespace scenarios {
namespace {

using hw_models::ScaleUpKind;

const std::string kGood =
    "gpu: h100-sxm-80gb\n"
    "gpus: 8\n"
    "scale_up: switch\n"
    "scale_up_domain: 16\n"
    "scale_up_bandwidth: 450 GB/s\n"
    "pair_bandwidth: 400 GB/s\n"
    "scale_up_latency: 2 us\n"
    "nics: 4\n"
    "nic_bandwidth: 400 Gb/s\n"
    "gpus_per_pcie_switch: 2\n"
    "numa_domains: 4\n"
    "pcie_bandwidth: 50 GB/s\n"
    "pcie_latency: 500 ns\n"
    "host_speed: 0.6\n"
    "overhead_power: 4 kW\n"
    "usd_per_hour: 23.6\n"
    "price_date: 2026-11\n"
    "source: invented\n";

std::string without_keys(std::string text, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) text = changed(text, {key, "", ""});
  return text;
}

TEST(LoadNode, ReadsEveryField) {
  std::string findings;
  const auto node = load_text(load_node, kGood, findings);
  ASSERT_TRUE(node.has_value()) << findings;
  EXPECT_EQ(findings, "");
  EXPECT_EQ(node->name, "entry");
  EXPECT_EQ(node->gpu, "h100-sxm-80gb");
  EXPECT_EQ(node->gpus, 8);
  EXPECT_EQ(node->scale_up, ScaleUpKind::kSwitch);
  EXPECT_EQ(node->scale_up_domain, 16);
  EXPECT_DOUBLE_EQ(node->scale_up_bandwidth.value(), 450e9);
  EXPECT_DOUBLE_EQ(node->pair_bandwidth.value(), 400e9);
  EXPECT_DOUBLE_EQ(node->scale_up_latency.value(), 2e-6);
  EXPECT_EQ(node->nics, 4);
  EXPECT_DOUBLE_EQ(node->nic_bandwidth.value(), 50e9);
  EXPECT_EQ(node->gpus_per_pcie_switch, 2);
  EXPECT_EQ(node->numa_domains, 4);
  EXPECT_DOUBLE_EQ(node->pcie_bandwidth.value(), 50e9);
  EXPECT_DOUBLE_EQ(node->pcie_latency.value(), 5e-7);
  EXPECT_DOUBLE_EQ(node->host_speed, 0.6);
  EXPECT_DOUBLE_EQ(node->overhead_power.value(), 4000);
  EXPECT_DOUBLE_EQ(node->usd_per_hour, 23.6);
  EXPECT_EQ(node->price_date, "2026-11");
}

TEST(LoadNode, PairBandwidthFollowsFromTheKind) {
  const std::string text = without_keys(kGood, {"pair_bandwidth", "scale_up_domain", "scale_up"});
  const std::pair<const char*, double> cases[] = {{"switch", 450e9}, {"pairs", 450e9}, {"mesh", 450e9 / 7}};
  for (const auto& [kind, bandwidth] : cases) {
    std::string findings;
    const auto node = load_text(load_node, text + "scale_up: " + kind + "\n", findings);
    ASSERT_TRUE(node.has_value()) << findings;
    EXPECT_DOUBLE_EQ(node->pair_bandwidth.value(), bandwidth) << kind;
    EXPECT_EQ(node->scale_up_domain, 8) << kind;
  }
}

TEST(LoadNode, ALonelyBoxNeedsNoLinksAndNoNics) {
  std::string findings;
  const auto node =
      load_text(load_node, "gpu: rtx-4090\ngpus: 2\nscale_up: none\nnics: 0\npcie_bandwidth: 12 GB/s\n", findings);
  ASSERT_TRUE(node.has_value()) << findings;
  EXPECT_EQ(node->scale_up, ScaleUpKind::kNone);
  EXPECT_DOUBLE_EQ(node->scale_up_bandwidth.value(), 0);
  EXPECT_EQ(node->nics, 0);
}

TEST(LoadNode, EachDefectIsOneFinding) {
  expect_findings(
      load_node, kGood,
      {{"gpu", "", "'gpu' is missing"},
       {"gpus", "", "'gpus' is missing"},
       {"gpus", "gpus: 0", "out of range"},
       {"gpus", "gpus: 100000000000", "out of range"},
       {"gpus", "gpus: 3", "'scale_up_domain: 16' is not a multiple of the node's 3 GPUs"},
       {"scale_up", "", "'scale_up' is missing"},
       {"scale_up", "scale_up: swich", "did you mean 'switch'?"},
       {"scale_up", "scale_up: mesh", "only 'scale_up: switch' reaches beyond the node"},
       {"scale_up_domain", "scale_up_domain: 12", "use 8 or 16"},
       {"scale_up_bandwidth", "", "'scale_up_bandwidth' is missing"},
       {"scale_up_bandwidth", "scale_up_bandwidth: 450", "scale_up_bandwidth"},
       {"scale_up_bandwidth", "scale_up_bandwidth: 1e30 GB/s", "out of range"},
       {"pair_bandwidth", "pair_bandwidth: 900 GB/s", "exceeds 'scale_up_bandwidth'"},
       {"scale_up_latency", "scale_up_latency: 2 hours", "out of range"},
       {"nics", "", "'nics' is missing"},
       {"nics", "nics: -1", "out of range"},
       {"nic_bandwidth", "", "'nic_bandwidth' is missing"},
       {"nic_bandwidth", "nic_bandwidth: 0 Gb/s", "out of range"},
       {"gpus_per_pcie_switch", "gpus_per_pcie_switch: 0", "out of range"},
       {"collectives", "collectives: {generation: hoper}", "did you mean 'hopper'?"},
       {"collectives", "collectives: {launch: 5 us, step: 1, ramp: 0 us}", "'collectives.bandwidth' is missing"},
       {"collectives", "collectives: {launch: 5 s, step: 1, bandwidth: 1, ramp: 0 us}", "out of range"},
       {"numa_domains", "numa_domains: 0", "out of range"},
       {"pcie_bandwidth", "", "'pcie_bandwidth' is missing"},
       {"pcie_latency", "pcie_latency: -1 us", "'pcie_latency"},
       {"overhead_power", "overhead_power: 1e30 W", "out of range"},
       {"usd_per_hour", "usd_per_hour: -3", "out of range"},
       {"usd_per_hour", "usd_per_hour: nan", "must be a number"},
       {"default_fabric", "default_fabric: x", "unknown key 'default_fabric'"}});
}

TEST(LoadNode, SingleLinks) {
  const std::string text = without_keys(kGood, {"scale_up", "scale_up_domain", "scale_up_bandwidth", "pair_bandwidth"});
  std::string findings;
  const auto node = load_text(load_node, text + "scale_up: links\nlinks: {0-1: 25 GB/s, 3-0: 50 GB/s}\n", findings);
  ASSERT_TRUE(node.has_value()) << findings;
  ASSERT_EQ(node->links.size(), 2U);
  EXPECT_EQ(node->links[1].a, 0);
  EXPECT_EQ(node->links[1].b, 3);
  EXPECT_DOUBLE_EQ(node->links[1].bandwidth.value(), 50e9);
  EXPECT_DOUBLE_EQ(node->scale_up_bandwidth.value(), 75e9);  // GPU 0
  EXPECT_DOUBLE_EQ(node->pair_bandwidth.value(), 50e9);
  expect_findings(load_node, text + "scale_up: links\nlinks: {0-1: 25 GB/s}\n",
                  {{"links", "", "'links' is missing"},
                   {"links", "links: {0-8: 25 GB/s}", "'0-8' is not a pair of the node's 8 GPUs"},
                   {"links", "links: {1-1: 25 GB/s}", "'1-1' is not a pair"},
                   {"links", "links: {a-1: 25 GB/s}", "'a-1' is not a pair"},
                   {"links", "links: {0-1: 25}", "links"},
                   {"links", "links: {0-1: 25 GB/s, 1-0: 25 GB/s}", "the link 0-1 stands twice"},
                   {"links", "links: 25 GB/s", "links"}});
}

TEST(LoadNode, OddNumberOfGpusCannotBePaired) {
  std::string findings;
  EXPECT_FALSE(load_text(load_node,
                         "gpu: a\ngpus: 3\nscale_up: pairs\nscale_up_bandwidth: 300 GB/s\nnics: 0\n"
                         "pcie_bandwidth: 12 GB/s\n",
                         findings)
                   .has_value());
  EXPECT_NE(findings.find("entry.yaml:2:7: error: 3 GPUs cannot be bridged in pairs"), std::string::npos) << findings;
}

}  // namespace
}  // namespace scenarios
