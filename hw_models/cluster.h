// The cluster as a graph: GPUs, NVSwitches or pairwise links, PCIe switches, NICs, leaf, spine and core switches.
// Boost.Graph is seen by cluster.cpp only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hw_models/fabric.h"
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

struct ClusterSpec {
  NodeSpec node;
  int nodes = 1;
  FabricSpec fabric;
  std::vector<DeadNic> dead_nics{};
  std::map<int, int> chosen_nics{};  ///< global GPU -> the NIC of its node that it uses instead of those nearest to it
  std::optional<ThinLink> thin_link{};
};

class Cluster {
 public:
  /// Throws std::invalid_argument naming the field when the spec is contradictory (nodes > 1 without NICs, ...).
  explicit Cluster(const ClusterSpec& spec);
  ~Cluster();
  Cluster(Cluster&&) noexcept;

  const ClusterSpec& spec() const;
  int gpus() const;  ///< global GPU index: node * gpus per node + local index
  int node_of(int gpu) const;
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
  /// Global index of the first of them, -1 without NICs.
  int nic_of(int gpu) const;

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
