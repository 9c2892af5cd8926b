#include "scenarios/collectives/sweep_cluster.h"

#include <gtest/gtest.h>

#include <string>

namespace scenarios {
namespace {

struct ClusterCase {
  const char *gpu, *interconnect;
  int gpus, nodes;
  const char *node, *fabric;
  double nic_gigabits;
  bool usual_network;
};

TEST(SweepCluster, FromWords) {
  static const Catalog catalog;
  for (const ClusterCase& c :
       {ClusterCase{"h100-sxm-80gb", "NVLink (one domain)", 8, 1, "dgx-h100", "infiniband-ndr", 400, false},
        {"h100-sxm-80gb", "NVLink4 + 8x CX-7 400G IB", 16, 2, "dgx-h100", "infiniband-ndr", 400, false},
        {"h100-sxm-80gb", "NVLink4 + 200G IB", 16, 2, "dgx-h100", "infiniband-hdr", 200, false},
        {"h200-sxm", "RoCE 1 NIC (400G) per GPU, gIB", 2, 2, "dgx-h200", "roce-400g", 400, false},
        {"h100-sxm-80gb", "NVLink4 + GPUDirect-TCPX(O), no RDMA", 16, 2, "a3-megagpu-8g", "gcp-tcpxo", 200, false},
        {"h100-sxm-80gb", "NVLink4 + EFA", 16, 2, "p5.48xlarge", "efa-v2", 100, false},
        {"mi355x", "8x AINIC 400G RoCE", 16, 2, "mi355x-platform", "ainic-400g", 400, false},
        {"h100-sxm-80gb", "NVLink4", 16, 2, "dgx-h100", "infiniband-ndr", 400, true},
        {"gb200", "NVLink5 NVL72", 72, 18, "gb200-nvl72", "infiniband-ndr", 400, false},
        {"gb200", "NVLink5 NVL72", 144, 2, "gb200-nvl72", "infiniband-ndr", 400, true}}) {
    SCOPED_TRACE(c.interconnect);
    MeasuredCollective row;
    row.gpu = c.gpu;
    row.interconnect = c.interconnect;
    row.gpus = c.gpus;
    row.nodes = c.nodes;
    const auto found = cluster_of(row, catalog);
    ASSERT_TRUE(std::holds_alternative<SweepCluster>(found));
    const auto& [cluster, usual] = std::get<SweepCluster>(found);
    EXPECT_EQ(cluster.node.name, c.node);
    EXPECT_EQ(cluster.fabric.name, c.fabric);
    EXPECT_NEAR(cluster.node.nic_bandwidth.value() * 8e-9, c.nic_gigabits, 1e-6);
    EXPECT_EQ(usual, c.usual_network);
    EXPECT_GE(cluster.nodes * cluster.node.gpus, c.gpus);
  }
}

TEST(SweepCluster, WhatCannotBePredictedHasAReason) {
  static const Catalog catalog;
  const auto reason = [](const char* gpu, int gpus, int nodes, const char* network) {
    MeasuredCollective row;
    row.gpu = gpu;
    row.gpus = gpus;
    row.nodes = nodes;
    row.interconnect = network;
    return std::get<std::string>(cluster_of(row, catalog));
  };
  EXPECT_EQ(reason("tpu", 8, 1, ""), "GPU not in the catalogue");
  EXPECT_EQ(reason("h100-sxm-80gb", 16, 1, ""), "more GPUs in a node than it holds");
  EXPECT_EQ(reason("h100-sxm-80gb", 16, 2, "network not stated (about 220 GB/s)"), "network not stated");
}

}  // namespace
}  // namespace scenarios
