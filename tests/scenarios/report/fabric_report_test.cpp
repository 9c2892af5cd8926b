#include "scenarios/report/fabric_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/catalog.h"

namespace scenarios {
namespace {

/// The 3,072 nodes of Llama 3 405B.
hw_models::ClusterSpec llama3() {
  const Catalog catalog;
  hw_models::ClusterSpec cluster;
  cluster.node = catalog.node("dgx-h100").value();
  cluster.nodes = 3072;
  cluster.fabric = catalog.fabric("roce-400g-three-tier").value();
  return cluster;
}

TEST(FabricReport, Text) {
  EXPECT_EQ(fabric_text(llama3()),
            "roce-400g-three-tier: fat-tree, 3072 nodes of dgx-h100, 1 plane, balanced routing\n\n"
            "tier   switches  downlinks  uplinks  uplink GB/s  switches crossed  share of a NIC\n"
            "leaf       1536         16       16         50.0                 1               1\n"
            "spine       128        192       27         50.8                 3               1\n"
            "core        432          8        -            -                 5           0.143\n");
}

TEST(FabricReport, Json) {
  hw_models::ClusterSpec cluster = llama3();
  cluster.fabric.hash_seed = 3;
  const nlohmann::ordered_json json = fabric_json(cluster);
  EXPECT_EQ(json["hash_seed"], 3);
  ASSERT_EQ(json["tiers"].size(), 3U);
  EXPECT_EQ(json["tiers"][1]["of"], "spine");
  EXPECT_EQ(json["tiers"][1]["switches"], 128);
  EXPECT_DOUBLE_EQ(json["tiers"][2]["share"].get<double>(), 1.0 / 7);
}

TEST(FabricReport, OneNodeHasNoSwitches) {
  hw_models::ClusterSpec cluster = llama3();
  cluster.nodes = 1;
  cluster.fabric.kind = hw_models::FabricKind::kNone;
  EXPECT_THAT(fabric_text(cluster), testing::EndsWith("No switches between the nodes.\n"));
  EXPECT_TRUE(fabric_json(cluster)["tiers"].empty());
}

}  // namespace
}  // namespace scenarios
