#include "tests/scenarios/load/catalog_entry_cases.h"

namespace scenarios {
namespace {

using hw_models::FabricKind;

const std::string kGood =
    "kind: fat-tree\n"
    "nodes_per_unit: 20\n"
    "oversubscription: 2.5\n"
    "efficiency: 0.8\n"
    "switch_latency: 200 ns\n"
    "endpoint_latency: 3 us\n"
    "jitter: 5 us\n"
    "units_per_pod: 4\n"
    "spine_oversubscription: 7\n"
    "planes: 2\n"
    "uplinks: 60\n"
    "routing: {hashed: 7}\n"
    "power_per_port: 30 W\n"
    "source: invented\n";

TEST(LoadFabric, ReadsEveryField) {
  std::string findings;
  const auto fabric = load_text(load_fabric, kGood, findings);
  ASSERT_TRUE(fabric.has_value()) << findings;
  EXPECT_EQ(findings, "");
  EXPECT_EQ(fabric->name, "entry");
  EXPECT_EQ(fabric->kind, FabricKind::kFatTree);
  EXPECT_EQ(fabric->nodes_per_unit, 20);
  EXPECT_DOUBLE_EQ(fabric->oversubscription, 2.5);
  EXPECT_DOUBLE_EQ(fabric->efficiency, 0.8);
  EXPECT_DOUBLE_EQ(fabric->switch_latency.value(), 2e-7);
  EXPECT_DOUBLE_EQ(fabric->endpoint_latency.value(), 3e-6);
  EXPECT_DOUBLE_EQ(fabric->jitter.value(), 5e-6);
  EXPECT_DOUBLE_EQ(fabric->power_per_port.value(), 30);
  EXPECT_EQ(fabric->units_per_pod, 4);
  EXPECT_DOUBLE_EQ(fabric->spine_oversubscription, 7);
  EXPECT_EQ(fabric->planes, 2);
  EXPECT_EQ(fabric->uplinks, 60);
  EXPECT_EQ(fabric->hash_seed, 7U);
}

TEST(LoadFabric, Kinds) {
  const std::pair<const char*, FabricKind> cases[] = {
      {"rail-optimized", FabricKind::kRailOptimized}, {"fat-tree", FabricKind::kFatTree}, {"none", FabricKind::kNone}};
  for (const auto& [word, kind] : cases) {
    std::string findings;
    EXPECT_EQ(load_text(load_fabric, std::string("kind: ") + word + "\n", findings)->kind, kind);
  }
}

TEST(LoadFabric, TwoTiersAndBalancedUnlessSaidOtherwise) {
  for (const char* more : {"", "routing: balanced\n"}) {
    std::string findings;
    const auto fabric = load_text(load_fabric, std::string("kind: fat-tree\n") + more, findings);
    ASSERT_TRUE(fabric.has_value()) << findings;
    EXPECT_EQ(fabric->units_per_pod, 0);
    EXPECT_EQ(fabric->planes, 1);
    EXPECT_EQ(fabric->hash_seed, std::nullopt);
  }
}

TEST(LoadFabric, EachDefectIsOneFinding) {
  expect_findings(load_fabric, kGood,
                  {{"kind", "", "'kind' is missing"},
                   {"kind", "kind: fattree", "did you mean 'fat-tree'?"},
                   {"nodes_per_unit", "nodes_per_unit: 0", "out of range"},
                   {"nodes_per_unit", "nodes_per_unit: 1.5", "whole number"},
                   {"oversubscription", "oversubscription: 0.5", "out of range"},
                   {"collectives", "collectives: {launch: 2 us, ramp: 60 us}", "'collectives.step' is missing"},
                   {"collectives", "collectives: {launch: 2 us, step: -1, ramp: 60 us}", "out of range"},
                   {"oversubscription", "oversubscription: 1e30", "out of range"},
                   {"units_per_pod", "units_per_pod: 0", "needs a third tier above the spines"},
                   {"spine_oversubscription", "spine_oversubscription: 0.9", "out of range"},
                   {"planes", "planes: 0", "out of range"},
                   {"uplinks", "uplinks: -1", "out of range"},
                   {"routing", "routing: ecmp", "use balanced"},
                   {"routing", "routing: {}", "'routing.hashed' is missing"},
                   {"routing", "routing: {hashed: -1}", "out of range"},
                   {"routing", "routing: {hashed: 1, seed: 2}", "unknown key 'seed'"},
                   {"efficiency", "efficiency: 0", "out of range"},
                   {"efficiency", "efficiency: 1.1", "out of range"},
                   {"efficiency", "efficiency: .inf", "must be a number"},
                   {"switch_latency", "switch_latency: 3", "switch_latency"},
                   {"endpoint_latency", "endpoint_latency: 2 s", "out of range"},
                   {"endpoint_latency", "endpoint_latency: -2 us", "'endpoint_latency"},
                   {"jitter", "jitter: -1 us", "'jitter"},
                   {"jitter", "jitter: 2 s", "out of range"},
                   {"power_per_port", "power_per_port: 1 MW", "out of range"},
                   {"latency", "latency: 3 us", "unknown key 'latency'"}});
}

}  // namespace
}  // namespace scenarios
