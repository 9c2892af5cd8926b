// Clusters written out by hand, for the tests of the cluster graph and of the network.
#pragma once

#include <vector>

#include "hw_models/cluster.h"

namespace hw_models::examples {

constexpr double kGigabyte = 1e9;
constexpr double kMicrosecond = 1e-6;

/// 8 H100 behind NVSwitches, one 400 Gb/s NIC per GPU, rails; line rates (fabric efficiency 1).
ClusterSpec dgx_h100(int nodes);
/// 8 A100 behind NVSwitches, 4 NICs of 100 Gb/s, two GPUs per NIC, one leaf per node group.
ClusterSpec p4d(int nodes);
/// 8 H100 with 32 NICs of 100 Gb/s, four per GPU.
ClusterSpec p5(int nodes);
/// 8 B200, one 400 Gb/s NIC per GPU at the 90 % that EFA reaches.
ClusterSpec p6_b200(int nodes);
/// 4 GPUs per tray, 18 trays behind one set of NVLink switches.
ClusterSpec nvl72(int nodes);
/// 8 MI300X, every pair joined.
ClusterSpec mi300x(int nodes);
/// 8 cards on PCIe 4, two per switch, two sockets, one 10 Gb/s NIC.
ClusterSpec pcie_box(int nodes);
/// 4 A100 PCIe with bridges between 0-1 and 2-3.
ClusterSpec bridged_pairs();
/// 8 V100 as a hybrid cube mesh: 6 links of 25 GB/s per GPU, one or two to each of 4 neighbours.
ClusterSpec cube_mesh(int nodes);
/// dgx_h100 whose NICs are numbered in another order than the GPUs beside them.
ClusterSpec shuffled_rails(int nodes);
/// 8 GPUs behind switches, 4 NICs of 200 Gb/s on socket 0; the GPUs of socket 1 reach them over the link between both.
ClusterSpec half_attached(int nodes);

/// The nodes of `plain` cut into pools of these sizes.
ClusterSpec in_pools(const ClusterSpec& plain, const std::vector<int>& sizes);
/// 8 H100 with 8 NICs of 400 Gb/s beside 8 A100 with 4 NICs of 100 Gb/s, on one rail-optimised fabric.
ClusterSpec h100_and_a100(int h100_nodes, int a100_nodes);

}  // namespace hw_models::examples
