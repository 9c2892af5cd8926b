#include "scenarios/predict/placement_warnings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/predict/prediction.h"
#include "strategies/build_program.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Plan {
  int tensor, pipeline, data;
  const char *order = "tp-dp-pp", *rest = "";
  const char* node = "dgx-h100";
};

std::vector<std::string> warnings(const Plan& plan) {
  const std::string text = fmt::format(
      "model: {{layers: 16, hidden: 1024, heads: 16, ffn: 4096, vocabulary: 32000}}\n"
      "training: {{sequence_length: 1024, global_batch: {}}}\n"
      "cluster: {{node: {}, gpus: {}}}\n"
      "plan: {{tensor: {}, pipeline: {}, data: {}, rank_order: {}}}\n{}\n",
      8 * plan.data, plan.node, plan.tensor * plan.pipeline * plan.data, plan.tensor, plan.pipeline, plan.data,
      plan.order, plan.rest);
  const Scenario scenario = load_scenario_text(text, "plan.yaml", ".", Catalog());
  const strategies::Program program =
      strategies::build_program(scenario.model, scenario.training, scenario.plan, scenario.software.implementation);
  return predict_placement(scenario, program, place_job(scenario, program)).warnings;
}

TEST(PlacementWarnings, NothingIsWrong) {
  EXPECT_THAT(warnings({8, 2, 2}), IsEmpty());
  EXPECT_THAT(warnings({4, 2, 4}), IsEmpty());
  EXPECT_THAT(warnings({1, 1, 8}), IsEmpty());
  EXPECT_THAT(warnings({8, 1, 2, "tp-dp-pp", "", "gb200-nvl72"}), IsEmpty());
}

TEST(PlacementWarnings, TensorGroupsBeyondANode) {
  EXPECT_THAT(warnings({16, 1, 2}),
              ElementsAre("all 2 tensor groups of 16 ranks lie on more than one node of 8 GPUs: what they exchange in "
                          "every layer goes through NICs; use tensor: 8 or less"));
}

TEST(PlacementWarnings, AnOrderThatTearsTensorGroupsApart) {
  EXPECT_THAT(warnings({4, 1, 4, "dp-tp-pp"}),
              ElementsAre("all 4 tensor groups of 4 ranks lie on more than one node of 8 GPUs: what they exchange in "
                          "every layer goes through NICs; placement: rail keeps them together"));
}

// 24 GPUs, stages of 6 ranks: two stages begin on another device than the first.
TEST(PlacementWarnings, MisrailedDataGroups) {
  EXPECT_THAT(warnings({2, 4, 3}),
              ElementsAre("4 of 8 data groups of 3 ranks are mis-railed, on other rails on one node than on another: "
                          "their traffic crosses the spine switches; placement: rail keeps them on theirs"));
}

// Two stages of 4 tensor ranks in 3 replicas on nodes of 8 have no better rule: 4 x 3 ranks of a stage fill no nodes.
TEST(PlacementWarnings, NoRuleHelps) {
  EXPECT_THAT(warnings({4, 3, 2, "tp-pp-dp"}),
              ElementsAre("all 12 data groups of 2 ranks are mis-railed, on other rails on one node than on another: "
                          "their traffic crosses the spine switches; let tensor x pipeline divide the 8 GPUs of a node "
                          "or fill whole nodes"));
}

TEST(PlacementWarnings, ADeadNicIsNotThePlacementsFault) {
  EXPECT_THAT(warnings({8, 1, 2, "tp-dp-pp", "faults: {dead_nic: {node: 1, nic: 2}}"}),
              ElementsAre("1 of 8 data groups of 2 ranks are mis-railed, on other rails on one node than on another: "
                          "their traffic crosses the spine switches; the dead NIC moved them"));
}

}  // namespace
}  // namespace scenarios
