// The cluster as a graph: GPUs, NVSwitches or pairwise links, PCIe switches, NICs, leaf, spine and core switches.
// Boost.Graph is seen by cluster.cpp only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hw_models/fabric.h"
#include "hw_models/gpu.h"
#include "hw_models/node.h"
#include "hw_models/units.h"

namespace hw_models {

enum class DeviceKind : std::uint8_t { kGpu, kScaleUpSwitch, kPcieSwitch, kHostBridge, kNic, kLeaf, kSpine, kCore };
enum class LinkClass : std::uint8_t { kScaleUp, kPcie, kHostBridge, kNicPort, kUplink };
const char* name(DeviceKind kind);
const char* name(LinkClass kind);

struct DeviceId {
  std::uint32_t value = 0;
  auto operator<=>(const DeviceId&) const = default;
};
struct LinkId {
  std::uint32_t value = 0;
  auto operator<=>(const LinkId&) const = default;
};

/// Full duplex: `bandwidth` in each direction. A link may stand for a trunk of equal parallel cables.
struct Link {
  DeviceId a, b;
  LinkClass kind = LinkClass::kPcie;
  BytesPerSecond bandwidth{};
  Seconds latency{};
};

/// A NIC that carries nothing, by its index inside its node.
struct DeadNic {
  int node = 0, nic = 0;
};

class NicSet;  // cluster_numbering.h

/// All uplinks of a leaf (of the first plane), or all NICs of a node, carry `factor` of what they should; 0 = the
/// leaf's are gone.
struct ThinLink {
  enum class At : std::uint8_t { kLeaf, kNode };
  At at = At::kLeaf;
  int index = 0;
  double factor = 1;
};

/// What is left of the links of leaf or node `index`.
inline double intact(const std::optional<ThinLink>& thin, ThinLink::At at, int index) {
  return thin && thin->at == at && thin->index == index ? thin->factor : 1;
}

/// Nodes of one kind, numbered one after the other.
struct NodePool {
  NodeSpec node;
  GpuSpec gpu;
  int nodes = 1;
};

struct ClusterSpec {
  NodeSpec node;  ///< of every node; of a mixed cluster's first pool
  int nodes = 1;  ///< in all
  FabricSpec fabric;
  std::vector<DeadNic> dead_nics{};
  std::map<int, int> chosen_nics{};  ///< global GPU -> the NIC of its node that it uses instead of those nearest to it
  std::optional<ThinLink> thin_link{};
  /// A mixed cluster: its nodes and GPUs are numbered pool by pool. Empty: all nodes are alike.
  std::vector<NodePool> pools{};

  bool mixed() const { return !pools.empty(); }
  std::size_t pool_count() const { return mixed() ? pools.size() : 1; }
  const NodeSpec& node_of_pool(std::size_t pool) const { return mixed() ? pools[pool].node : node; }
  int nodes_of_pool(std::size_t pool) const { return mixed() ? pools[pool].nodes : nodes; }
  const NodeSpec& node_at(int index) const;
  int gpus() const;
  int first_gpu(int node_index) const;  ///< of the cluster: that of this node with the lowest number
};

/// At least one pool.
ClusterSpec mixed_cluster(std::vector<NodePool> pools, FabricSpec fabric);
/// The first pool of a mixed cluster whose GPUs are of the kind of `pool`'s.
std::size_t first_of_kind(const ClusterSpec& cluster, std::size_t pool);
/// The least that any node has: `figure` is a member of NodeSpec or a function of it.
template <class Figure>
int least_of_nodes(const ClusterSpec& cluster, const Figure& figure) {
  int least = std::invoke(figure, cluster.node);
  for (const NodePool& pool : cluster.pools) least = std::min(least, std::invoke(figure, pool.node));
  return least;
}
/// nullopt where nodes differ in it.
std::optional<int> gpus_of_every_node(const ClusterSpec& cluster);

class Cluster {
 public:
  /// Throws std::invalid_argument naming the field when the spec is contradictory (nodes > 1 without NICs, ...).
  explicit Cluster(const ClusterSpec& spec);
  ~Cluster();
  Cluster(Cluster&&) noexcept;

  const ClusterSpec& spec() const;
  int gpus() const;  ///< global GPU index: node by node, then by local index
  int node_of(int gpu) const;
  int pool_of(int gpu) const;   ///< index in ClusterSpec::pools; 0 where all nodes are alike
  int local_of(int gpu) const;  ///< its index inside the node
  const NodeSpec& node_spec(int gpu) const { return spec().node_of_pool(static_cast<std::size_t>(pool_of(gpu))); }
  /// Index of the domain whose GPUs reach each other without a NIC: the NVLink or xGMI domain, else the node.
  int domain_of(int gpu) const;
  DeviceId gpu(int gpu) const;
  DeviceKind kind(DeviceId device) const;
  std::string name(DeviceId device) const;  ///< "node3/gpu5", "node3/nic2", "leaf7", ...
  std::size_t devices() const;
  std::size_t links() const;
  const Link& link(LinkId link) const;
  /// NICs that `gpu` uses, by their index inside the node (nic_assignment.h). Several GPUs may share one.
  NicSet nics_of(int gpu) const;
  /// Global index of the first of them, -1 without NICs: node * nic_stride() + local index.
  int nic_of(int gpu) const;
  int nic_stride() const;  ///< NICs of the node that has most

  /// Whether a message between them goes over NICs: to another node and another domain.
  bool leaves_domain(int from_gpu, int to_gpu) const {
    return node_of(from_gpu) != node_of(to_gpu) && domain_of(from_gpu) != domain_of(to_gpu);
  }

  /// Links from `from` to `to`, in order; empty when equal. Balanced: where equal routes exist (spines, cores, planes),
  /// one trunk stands for all of them. Two GPUs joined by scale-up links never leave them, at most one GPU lies between
  /// (kLinks); others go GPU - PCIe - NIC - leaf ...
  std::vector<LinkId> route(int from_gpu, int to_gpu) const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace hw_models
