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

PoolNumbering::PoolNumbering(const NodeSpec& node, int nodes_of_pool)
    : nodes(nodes_of_pool),
      gpus(node.gpus),
      pcie_switches(pcie_switches_of(node)),
      hosts(node.numa_domains),
      nics(node.nics),
      gpus_per_domain(domain_size(node)),
      wiring_(node.wiring),
      gpus_per_pcie_switch_(node.gpus_per_pcie_switch) {
  if (node.scale_up == ScaleUpKind::kSwitch && node.scale_up_domain > 1) scale_up_switches = domains();
}

int PoolNumbering::domains() const { return ceil_divide(nodes * gpus, gpus_per_domain); }

PoolNumbering PoolNumbering::followed_by(PoolNumbering next) const {
  next.first_node = first_node + nodes;
  next.first_gpu = first_gpu + nodes * gpus;
  next.first_domain = first_domain + domains();
  next.first_scale_up_switch = first_scale_up_switch + scale_up_switches;
  next.first_device = first_device + static_cast<std::uint32_t>(nodes) * devices_per_node();
  return next;
}

ClusterNumbering::ClusterNumbering(const ClusterSpec& spec) : nodes(spec.nodes) {
  for (std::size_t i = 0; i < spec.pool_count(); ++i) {
    const PoolNumbering pool(spec.node_of_pool(i), spec.nodes_of_pool(i));
    pools_.push_back(pools_.empty() ? pool : pools_.back().followed_by(pool));
    gpus += pool.nodes * pool.gpus;
    nics = std::max(nics, pool.nics);
    scale_up_switches += pool.scale_up_switches;
    devices_of_nodes_ += static_cast<std::uint32_t>(pool.nodes) * pool.devices_per_node();
  }
  if (nics == 0 || spec.fabric.kind == FabricKind::kNone) return;
  nodes_per_unit = spec.fabric.nodes_per_unit;
  leaves_per_unit = spec.fabric.kind == FabricKind::kRailOptimized ? nics : 1;
  leaves = leaves_per_unit * ((nodes - 1) / nodes_per_unit + 1);
  leaves_per_pod = spec.fabric.units_per_pod > 0 ? spec.fabric.units_per_pod * leaves_per_unit : leaves;
  spines = leaves > 1 ? ceil_divide(leaves, leaves_per_pod) : 0;
  cores = spines > 1 ? 1 : 0;
}

// A cluster has a handful of pools at most: the last one that begins at or before the node (GPU, device) holds it.
template <typename Number>
std::size_t ClusterNumbering::last_begun(Number PoolNumbering::*first, Number number) const {
  std::size_t pool = pools_.size() - 1;
  while (pool > 0 && pools_[pool].*first > number) --pool;
  return pool;
}

std::size_t ClusterNumbering::pool_of_node(int node) const { return last_begun(&PoolNumbering::first_node, node); }

std::size_t ClusterNumbering::pool_of_gpu(int gpu) const { return last_begun(&PoolNumbering::first_gpu, gpu); }

const PoolNumbering& ClusterNumbering::pool_of_device(DeviceId device) const {
  return pools_[last_begun(&PoolNumbering::first_device, device.value)];
}

int ClusterNumbering::node_of(int gpu) const {
  const PoolNumbering& pool = pools_[pool_of_gpu(gpu)];
  return pool.first_node + (gpu - pool.first_gpu) / pool.gpus;
}

int ClusterNumbering::local_of(int gpu) const {
  const PoolNumbering& pool = pools_[pool_of_gpu(gpu)];
  return (gpu - pool.first_gpu) % pool.gpus;
}

int ClusterNumbering::domain_of(int gpu) const {
  const PoolNumbering& pool = pools_[pool_of_gpu(gpu)];
  return pool.first_domain + (gpu - pool.first_gpu) / pool.gpus_per_domain;
}

int ClusterNumbering::first_gpu(int node) const {
  const PoolNumbering& pool = of_node(node);
  return pool.first_gpu + (node - pool.first_node) * pool.gpus;
}

DeviceId ClusterNumbering::host(int node, int local) const {
  const PoolNumbering& pool = of_node(node);
  return in_node(node, pool.gpus + pool.pcie_switches + local);
}

DeviceId ClusterNumbering::nic(int node, int local) const {
  const PoolNumbering& pool = of_node(node);
  return in_node(node, pool.gpus + pool.pcie_switches + pool.hosts + local);
}

DeviceId ClusterNumbering::scale_up_switch_of(int gpu) const {
  const PoolNumbering& pool = pools_[pool_of_gpu(gpu)];
  return scale_up_switch(pool.first_scale_up_switch + (gpu - pool.first_gpu) / pool.gpus_per_domain);
}

DeviceId ClusterNumbering::in_node(int node, int local) const {
  const PoolNumbering& pool = of_node(node);
  return DeviceId{pool.first_device + static_cast<std::uint32_t>(node - pool.first_node) * pool.devices_per_node() +
                  static_cast<std::uint32_t>(local)};
}

DeviceKind ClusterNumbering::kind(DeviceId device) const {
  if (device < shared(0)) {
    const PoolNumbering& pool = pool_of_device(device);
    const int local = static_cast<int>((device.value - pool.first_device) % pool.devices_per_node());
    if (local < pool.gpus) return DeviceKind::kGpu;
    if (local < pool.gpus + pool.pcie_switches) return DeviceKind::kPcieSwitch;
    return local < pool.gpus + pool.pcie_switches + pool.hosts ? DeviceKind::kHostBridge : DeviceKind::kNic;
  }
  if (device < leaf(0)) return DeviceKind::kScaleUpSwitch;
  if (device < spine(0)) return DeviceKind::kLeaf;
  return device < core() ? DeviceKind::kSpine : DeviceKind::kCore;
}

std::string ClusterNumbering::name(DeviceId device) const {
  const auto in_its_node = [&](const char* what, auto first) {
    const PoolNumbering& pool = pool_of_device(device);
    const std::uint32_t node = (device.value - pool.first_device) / pool.devices_per_node();
    const int index = pool.first_node + static_cast<int>(node);
    return fmt::format("node{}/{}{}", index, what, device.value - first(index).value);
  };
  switch (kind(device)) {
    case DeviceKind::kGpu:
      return in_its_node("gpu", [this](int node) { return gpu(node, 0); });
    case DeviceKind::kPcieSwitch:
      return in_its_node("pcie", [this](int node) { return pcie_switch(node, 0); });
    case DeviceKind::kHostBridge:
      return in_its_node("host", [this](int node) { return host(node, 0); });
    case DeviceKind::kNic:
      return in_its_node("nic", [this](int node) { return nic(node, 0); });
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
