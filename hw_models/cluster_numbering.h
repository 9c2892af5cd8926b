// How the devices of a cluster are numbered. Nothing is stored per device: kinds and names are computed.
//
//   [node 0: GPUs, PCIe switches, host bridges, NICs] [node 1: ...] ... [scale-up switches] [leaves] [spines] [core]
//
// One spine stands for all of a pod, one core for all of the cluster, one plane for all planes. The nodes of a mixed
// cluster are numbered pool by pool, each as its kind has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw_models/cluster.h"

namespace hw_models {

/// NICs of one GPU, by their index inside the node, ascending: consecutive ones, or those of a list (the
/// node's wiring, a NicAssignment's), which must outlive this.
class NicSet {
 public:
  NicSet() = default;
  NicSet(int first, int count) : first_(first), count_(count) {}
  explicit NicSet(const std::vector<int>& listed) : listed_(listed.data()), count_(static_cast<int>(listed.size())) {}

  int size() const { return count_; }
  int operator[](int i) const { return listed_ != nullptr ? listed_[i] : first_ + i; }
  int first() const { return (*this)[0]; }

 private:
  const int* listed_ = nullptr;
  int first_ = 0, count_ = 0;
};

/// NICs a GPU uses by affinity: those of the node's wiring, else its even share in index order; several GPUs share one
/// where GPUs outnumber NICs. Empty only without NICs.
NicSet nics_of_local_gpu(const NodeSpec& node, int local_gpu);

/// Between two CPU sockets or dies.
BytesPerSecond host_link_bandwidth(const NodeSpec& node);

/// GPUs per domain whose members reach each other without a NIC: the NVLink domain, or the node where it has none.
int domain_size(const NodeSpec& node);

/// One node of a pool, and where the pool begins. Local indices throughout.
class PoolNumbering {
 public:
  PoolNumbering(const NodeSpec& node, int nodes_of_pool);

  int nodes, gpus, pcie_switches, hosts, nics;  ///< the last four of one node
  int gpus_per_domain;
  int scale_up_switches = 0;  ///< of all its nodes
  int first_node = 0, first_gpu = 0, first_domain = 0, first_scale_up_switch = 0;
  std::uint32_t first_device = 0;

  std::uint32_t devices_per_node() const { return static_cast<std::uint32_t>(gpus + pcie_switches + hosts + nics); }
  int domains() const;
  /// The pool that begins where this one ends.
  PoolNumbering followed_by(PoolNumbering next) const;

  int switch_of_gpu(int local_gpu) const {
    return wiring_ ? at(wiring_->switch_of_gpu, local_gpu) : local_gpu / gpus_per_pcie_switch_;
  }
  int switch_of_nic(int local_nic) const {
    return wiring_ ? at(wiring_->switch_of_nic, local_nic) : local_nic * pcie_switches / nics;
  }
  int host_of_switch(int local_switch) const {
    return wiring_ ? at(wiring_->host_of_switch, local_switch) : local_switch * hosts / pcie_switches;
  }

 private:
  static int at(const std::vector<int>& list, int index) { return list[static_cast<std::size_t>(index)]; }

  std::optional<PcieWiring> wiring_;
  int gpus_per_pcie_switch_;
};

/// `spec` must have passed check().
class ClusterNumbering {
 public:
  explicit ClusterNumbering(const ClusterSpec& spec);

  int nodes, gpus = 0;
  int nics = 0;               ///< of the node that has most: NIC i of node n is the cluster's n * nics + i
  int scale_up_switches = 0;  ///< in the cluster
  int leaves_per_unit = 0, leaves = 0, spines = 0, cores = 0;
  int nodes_per_unit = 1, leaves_per_pod = 1;

  std::size_t pools() const { return pools_.size(); }
  const PoolNumbering& pool(std::size_t index) const { return pools_[index]; }
  std::size_t pool_of_node(int node) const;
  std::size_t pool_of_gpu(int gpu) const;
  const PoolNumbering& of_node(int node) const { return pools_[pool_of_node(node)]; }
  int node_of(int gpu) const;
  int local_of(int gpu) const;
  int domain_of(int gpu) const;
  int first_gpu(int node) const;

  std::uint32_t devices() const { return shared(scale_up_switches + leaves + spines + cores).value; }
  DeviceId gpu(int node, int local) const { return in_node(node, local); }
  DeviceId pcie_switch(int node, int local) const { return in_node(node, of_node(node).gpus + local); }
  DeviceId host(int node, int local) const;
  DeviceId nic(int node, int local) const;
  DeviceId scale_up_switch(int domain) const { return shared(domain); }
  DeviceId leaf(int index) const { return shared(scale_up_switches + index); }
  DeviceId spine(int pod) const { return shared(scale_up_switches + leaves + pod); }
  DeviceId core() const { return shared(scale_up_switches + leaves + spines); }
  /// The switch that joins the GPUs of a domain; of a node whose scale_up is one.
  DeviceId scale_up_switch_of(int gpu) const;

  /// Leaf that a NIC hangs on: one per rail and unit, or one per unit in a fat tree.
  int leaf_of_nic(int node, int local_nic) const { return node / nodes_per_unit * leaves_per_unit + rail(local_nic); }
  int pod_of_leaf(int leaf) const { return leaf / leaves_per_pod; }

  DeviceKind kind(DeviceId device) const;
  std::string name(DeviceId device) const;

 private:
  DeviceId in_node(int node, int local) const;
  DeviceId shared(int index) const { return DeviceId{devices_of_nodes_ + static_cast<std::uint32_t>(index)}; }
  template <typename Number>
  std::size_t last_begun(Number PoolNumbering::*first, Number number) const;
  const PoolNumbering& pool_of_device(DeviceId device) const;
  int rail(int local_nic) const { return leaves_per_unit > 1 ? local_nic : 0; }

  std::vector<PoolNumbering> pools_;
  std::uint32_t devices_of_nodes_ = 0;
};

}  // namespace hw_models
