#include <array>

#include "scenarios/collectives/diagnosis.h"

namespace scenarios {
namespace {

using hw_models::ClusterSpec;
using hw_models::ScaleUpKind;

bool several_nodes(const ClusterSpec& cluster) { return cluster.nodes > 1; }

bool no_nvls(ClusterSpec& cluster, CollectiveOptions& options) {
  if (!options.nvls || !hw_models::nccl_system(cluster).nvls) return false;
  options.nvls = false;
  return true;
}

bool ring_only(ClusterSpec& cluster, CollectiveOptions& options) {
  options.choice.algorithms = hw_models::parse_nccl_algorithms("Ring").value();
  return several_nodes(cluster);
}

bool no_nvlink(ClusterSpec& cluster, CollectiveOptions&) {
  if (cluster.node.scale_up == ScaleUpKind::kNone) return false;
  cluster.node.scale_up = ScaleUpKind::kNone;
  cluster.node.scale_up_domain = cluster.node.gpus;
  cluster.node.collectives.reset();
  return true;
}

bool one_nic(ClusterSpec& cluster, CollectiveOptions&) {
  if (!several_nodes(cluster) || cluster.node.nics < 2) return false;
  cluster.node.nics = 1;
  cluster.node.wiring.reset();
  return true;
}

bool half_the_nics(ClusterSpec& cluster, CollectiveOptions&) {
  if (!several_nodes(cluster) || cluster.node.nics < 4) return false;
  cluster.node.nic_bandwidth = cluster.node.nic_bandwidth / 2;
  return true;
}

/// A copy through host memory takes the slot twice: half of its rate at most, and 10 us more a hop (an estimate).
bool no_gpudirect(ClusterSpec& cluster, CollectiveOptions&) {
  if (!several_nodes(cluster)) return false;
  cluster.node.pcie_bandwidth = cluster.node.pcie_bandwidth / 4;
  cluster.fabric.endpoint_latency += hw_models::Seconds(10e-6);
  return true;
}

bool slower_pcie(ClusterSpec& cluster, CollectiveOptions&) {
  if (!several_nodes(cluster) && cluster.node.scale_up != ScaleUpKind::kNone) return false;
  cluster.node.pcie_bandwidth = cluster.node.pcie_bandwidth / 2;
  return true;
}

/// One stream of TCP through the kernel moves about 5 GB/s with a hop of 40 us (catalogue: ethernet-100g, 0.6 x 100
/// Gb/s).
bool sockets(ClusterSpec& cluster, CollectiveOptions&) {
  if (!several_nodes(cluster)) return false;
  cluster.node.nics = 1;
  cluster.node.wiring.reset();
  cluster.node.nic_bandwidth = hw_models::BytesPerSecond(12.5e9);
  cluster.fabric.efficiency = 0.6;
  cluster.fabric.endpoint_latency = hw_models::Seconds(40e-6);
  return true;
}

bool sharp_on(ClusterSpec& cluster, CollectiveOptions& options) {
  options.sharp = true;
  return several_nodes(cluster);
}

constexpr std::array<CollectiveFault, 9> kFaults{{
    {"no-nvls",
     "NVLS is off: look for NCCL_NVLS_ENABLE=0, a driver without fabric manager, or an unsupported data type", no_nvls},
    {"one-nic", "one NIC carries everything: look at NCCL_IB_HCA and at which NIC is near which GPU", one_nic},
    {"half-nics", "half of the NIC rate: dead rails, NICs at half speed, or GPUs that share one", half_the_nics},
    {"ring-only", "only rings: look for NCCL_ALGO; trees count a NIC twice on two nodes", ring_only},
    {"no-nvlink", "GPUs talk over PCIe: look for NCCL_P2P_DISABLE, or NVLink down (nvidia-smi nvlink -s)", no_nvlink},
    {"no-gpudirect",
     "no GPUDirect RDMA, data goes through host memory: look for nvidia-peermem, ACS, NCCL_NET_GDR_LEVEL",
     no_gpudirect},
    {"slow-pcie", "PCIe at half its rate: look at the link's generation and width (nvidia-smi -q, lspci -vv)",
     slower_pcie},
    {"sockets", "TCP sockets instead of RDMA: look for the network plug-in, NCCL_IB_DISABLE, NET/Socket in the log",
     sockets},
    {"sharp", "faster than expected: the switches reduce (SHARP)", sharp_on},
}};

}  // namespace

std::span<const CollectiveFault> collective_faults() { return kFaults; }

}  // namespace scenarios
