#include "hw_models/cluster_numbering.h"

#include <fmt/format.h>

#include <algorithm>

namespace hw_models {
namespace {

/// Between two CPU sockets or dies, as a share of a x16 slot: NCCL 2.30 (topo.h, topo.cc) counts 16 GB/s between AMD
/// CPUs against 24 GB/s for PCIe 4 x16.
constexpr double kHostLinkShare = 2.0 / 3.0;

int ceil_divide(int a, int b) { return (a + b - 1) / b; }

int pcie_switches_of(const NodeSpec& node) {
  return node.wiring ? static_cast<int>(node.wiring->host_of_switch.size())
                     : ceil_divide(node.gpus, node.gpus_per_pcie_switch);
}

}  // namespace

NicSet nics_of_local_gpu(const NodeSpec& node, int local_gpu) {
  if (node.nics == 0) return {};
  if (node.wiring) return NicSet(node.wiring->nics_of_gpu[static_cast<std::size_t>(local_gpu)]);
  const int first = local_gpu * node.nics / node.gpus;
  return {first, std::max(1, (local_gpu + 1) * node.nics / node.gpus - first)};
}

BytesPerSecond host_link_bandwidth(const NodeSpec& node) { return node.pcie_bandwidth * kHostLinkShare; }

int domain_size(const NodeSpec& node) {
  return node.scale_up == ScaleUpKind::kSwitch ? node.scale_up_domain : node.gpus;
}

ClusterNumbering::ClusterNumbering(const ClusterSpec& spec)
    : nodes(spec.nodes),
      gpus_per_node(spec.node.gpus),
      pcie_switches(pcie_switches_of(spec.node)),
      hosts(spec.node.numa_domains),
      nics(spec.node.nics),
      wiring_(spec.node.wiring),
      gpus_per_pcie_switch_(spec.node.gpus_per_pcie_switch) {
  if (spec.node.scale_up == ScaleUpKind::kSwitch && spec.node.scale_up_domain > 1) {
    scale_up_switches = ceil_divide(nodes * gpus_per_node, spec.node.scale_up_domain);
  }
  if (nics == 0 || spec.fabric.kind == FabricKind::kNone) return;
  nodes_per_unit = spec.fabric.nodes_per_unit;
  leaves_per_unit = spec.fabric.kind == FabricKind::kRailOptimized ? nics : 1;
  leaves = leaves_per_unit * ((nodes - 1) / nodes_per_unit + 1);
  leaves_per_pod = spec.fabric.units_per_pod > 0 ? spec.fabric.units_per_pod * leaves_per_unit : leaves;
  spines = leaves > 1 ? ceil_divide(leaves, leaves_per_pod) : 0;
  cores = spines > 1 ? 1 : 0;
}

std::uint32_t ClusterNumbering::devices_per_node() const {
  return static_cast<std::uint32_t>(gpus_per_node + pcie_switches + hosts + nics);
}

std::uint32_t ClusterNumbering::devices() const { return shared(scale_up_switches + leaves + spines + cores).value; }

DeviceId ClusterNumbering::in_node(int node, int local) const {
  return DeviceId{static_cast<std::uint32_t>(node) * devices_per_node() + static_cast<std::uint32_t>(local)};
}

DeviceId ClusterNumbering::shared(int index) const { return in_node(nodes, index); }

DeviceKind ClusterNumbering::kind(DeviceId device) const {
  if (device < shared(0)) {
    const int local = static_cast<int>(device.value % devices_per_node());
    if (local < gpus_per_node) return DeviceKind::kGpu;
    if (local < gpus_per_node + pcie_switches) return DeviceKind::kPcieSwitch;
    return local < gpus_per_node + pcie_switches + hosts ? DeviceKind::kHostBridge : DeviceKind::kNic;
  }
  if (device < leaf(0)) return DeviceKind::kScaleUpSwitch;
  if (device < spine(0)) return DeviceKind::kLeaf;
  return device < core() ? DeviceKind::kSpine : DeviceKind::kCore;
}

std::string ClusterNumbering::name(DeviceId device) const {
  const std::uint32_t node = device.value / devices_per_node();
  const std::uint32_t local = device.value % devices_per_node();
  const auto in_its_node = [&](const char* what, DeviceId first) {
    return fmt::format("node{}/{}{}", node, what, local - first.value);
  };
  switch (kind(device)) {
    case DeviceKind::kGpu:
      return in_its_node("gpu", gpu(0, 0));
    case DeviceKind::kPcieSwitch:
      return in_its_node("pcie", pcie_switch(0, 0));
    case DeviceKind::kHostBridge:
      return in_its_node("host", host(0, 0));
    case DeviceKind::kNic:
      return in_its_node("nic", nic(0, 0));
    case DeviceKind::kScaleUpSwitch:
      return fmt::format("switch{}", device.value - scale_up_switch(0).value);
    case DeviceKind::kLeaf:
      return fmt::format("leaf{}", device.value - leaf(0).value);
    case DeviceKind::kSpine:
      return spines > 1 ? fmt::format("spine{}", device.value - spine(0).value) : "spine";
    case DeviceKind::kCore:
      break;
  }
  return "core";
}

}  // namespace hw_models
