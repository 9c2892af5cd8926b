#include "sim/uplink_collisions.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "strategies/build_program.h"
#include "tests/programs/small_plans.h"
#include "tests/sim/network_clusters.h"

namespace sim {
namespace {

/// Worst flows by family: tensor 4 x data 4 x 2 stages on four nodes, one per unit and two per pod. The data groups of
/// a stage stay in its pod; all messages of a stage cross to the other pod.
std::map<std::string, int> worst_flows(std::optional<std::uint64_t> seed) {
  strategies::PlanSpec plan;
  plan.tensor = plan.data = 4;
  plan.pipeline = 2;
  const strategies::Program program =
      strategies::build_program(tests::small_model(), tests::small_training(), plan, {});
  hw_models::ClusterSpec spec = dgx_h100(4);
  spec.fabric.nodes_per_unit = 1;
  spec.fabric.units_per_pod = 2;
  spec.fabric.hash_seed = seed;
  std::map<std::string, int> flows;
  for (const UplinkCollisions& each :
       uplink_collisions(program, hw_models::Cluster(spec), strategies::packed(program))) {
    EXPECT_TRUE(flows.emplace(each.family, each.flows).second) << each.family << " stands twice";
  }
  return flows;
}

// A leaf has one NIC and one uplink: nobody shares it. 16 messages on the 16 cables from the pod to the cores do.
TEST(UplinkCollisions, AreCountedByFamily) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::map<std::string, int> flows = worst_flows(seed);
    EXPECT_EQ(flows.at("tensor"), 1);
    EXPECT_EQ(flows.at("data"), 1);
    EXPECT_GE(flows.at("messages"), 2);
    EXPECT_LE(flows.at("messages"), 16);
  }
}

TEST(UplinkCollisions, NoneWithBalancedRouting) {
  for (const auto& [family, flows] : worst_flows(std::nullopt)) EXPECT_EQ(flows, 1) << family;
}

}  // namespace
}  // namespace sim
