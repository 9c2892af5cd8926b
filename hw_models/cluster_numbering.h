// How the devices of a cluster are numbered. Nothing is stored per device: kinds and names are computed.
//
//   [node 0: GPUs, PCIe switches, host bridges, NICs] [node 1: ...] ... [scale-up switches] [leaves] [spine]
#pragma once

#include <cstdint>
#include <string>

#include "hw_models/cluster.h"

namespace hw_models {

/// Half-open range of NIC indices inside a node.
struct NicRange {
  int first = 0, last = 0;
  int size() const { return last - first; }
};

/// NICs a GPU uses by affinity: its even share in index order; several GPUs share one where GPUs outnumber NICs.
NicRange nics_of_local_gpu(const NodeSpec& node, int local_gpu);

/// GPUs per domain whose members reach each other without a NIC: the NVLink domain, or the node where it has none.
int domain_size(const NodeSpec& node);

/// `spec` must have passed check().
class ClusterNumbering {
 public:
  explicit ClusterNumbering(const ClusterSpec& spec);

  int nodes, gpus_per_node, pcie_switches, hosts, nics;  ///< the last three per node
  int scale_up_switches = 0;                             ///< in the cluster
  int leaves_per_unit = 0, leaves = 0, spines = 0;
  int nodes_per_unit = 1;

  std::uint32_t devices_per_node() const;
  std::uint32_t devices() const;
  DeviceId gpu(int node, int local) const { return in_node(node, local); }
  DeviceId pcie_switch(int node, int local) const { return in_node(node, gpus_per_node + local); }
  DeviceId host(int node, int local) const { return in_node(node, gpus_per_node + pcie_switches + local); }
  DeviceId nic(int node, int local) const { return in_node(node, gpus_per_node + pcie_switches + hosts + local); }
  DeviceId scale_up_switch(int domain) const { return shared(domain); }
  DeviceId leaf(int index) const { return shared(scale_up_switches + index); }
  DeviceId spine() const { return shared(scale_up_switches + leaves); }

  int switch_of_gpu(int local_gpu) const { return local_gpu / gpus_per_pcie_switch_; }
  int switch_of_nic(int local_nic) const { return local_nic * pcie_switches / nics; }
  int host_of_switch(int local_switch) const { return local_switch * hosts / pcie_switches; }
  /// Leaf that a NIC hangs on: one per rail and unit, or one per unit in a fat tree.
  int leaf_of_nic(int node, int local_nic) const { return node / nodes_per_unit * leaves_per_unit + rail(local_nic); }

  DeviceKind kind(DeviceId device) const;
  std::string name(DeviceId device) const;

 private:
  DeviceId in_node(int node, int local) const;
  DeviceId shared(int index) const;
  int rail(int local_nic) const { return leaves_per_unit > 1 ? local_nic : 0; }

  int gpus_per_pcie_switch_;
};

}  // namespace hw_models
