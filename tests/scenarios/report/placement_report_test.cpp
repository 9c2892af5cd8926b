#include "scenarios/report/placement_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scenarios {
namespace {

using testing::HasSubstr;

Scenario small_scenario() {
  return load_scenario_text(
      "model: {layers: 4, hidden: 256, heads: 8, ffn: 1024, vocabulary: 32000}\n"
      "training: {sequence_length: 512, global_batch: 32}\n"
      "cluster: {node: dgx-h100, nodes: 2}\nplan: {tensor: 8}\n",
      "small.yaml", ".", Catalog());
}

PlacementPrediction two_families() {
  PlacementPrediction placement;
  placement.rule = "packed";
  placement.families = {{"tensor", 2, 8, {1, 1}, {1, 1}, {8, 8}, {8, 8}, 0, 0, 0},
                        {"data", 8, 2, {1, 2}, {2, 2}, {1, 1}, {1, 2}, 8, 0, 1}};
  placement.warnings = {"something is wrong; mend it"};
  return placement;
}

TEST(PlacementReport, Text) {
  const std::string text = placement_text(small_scenario(), two_families());
  EXPECT_EQ(text.substr(0, text.find("\nrails:")),
            R"(2 x dgx-h100 (8 GPUs each), infiniband-ndr; placement packed, rank order tp-cp-ep-dp-pp

Where the groups of every family lie
  family  groups  ranks  nodes  domains  ranks per node  rails  leave domain  leave unit  mis-railed
  tensor       2      8      1        1               8      8             0           0           0
  data         8      2    1-2        2               1    1-2             8           0           1
)");
  EXPECT_THAT(text, HasSubstr("\nsomething is wrong; mend it\n"));
  EXPECT_THAT(placement_text(small_scenario(), {}), HasSubstr("No ranks communicate."));
}

TEST(PlacementReport, Json) {
  const nlohmann::ordered_json json = placement_json(two_families());
  EXPECT_EQ(json["rule"], "packed");
  EXPECT_EQ(json["families"][1].dump(),
            R"({"name":"data","groups":8,"ranks":2,"hosts":[1,2],"domains":[2,2],"ranks_per_host":[1,1],)"
            R"("rails":[1,2],"across_domains":8,"across_units":0,"misrailed":1})");
}

}  // namespace
}  // namespace scenarios
