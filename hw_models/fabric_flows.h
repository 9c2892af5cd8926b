// What hashed routing (ECMP) and a thin link leave to flows that run at once. A flow is one connection from NIC to NIC;
// with p planes it is p equal halves, each on its own plane.
//
// Hashed: for every plane, a flow that leaves its leaf takes the leaf's uplink h_1 mod u and so the spine, and if it
// leaves the pod the spine's uplink h_2 mod w and so the core; from there one way leads down. h is a mix of (seed, both
// NICs, label, plane, tier): the same for the same seed on every machine, and not for the same flow in other tiers.
//
//   most of a flow = planes in use x min over its cables (cable x fabric efficiency x intact share / flows on it)
//
// Flows of one family that run at once are counted, those of other families are not. Equal shares on every cable: what
// a flow leaves because it is held up elsewhere, nobody takes.
//
// Thin link: whoever crosses it gets `factor` of its balanced rate, all its NICs do (a collective cuts its data
// evenly). A leaf whose uplinks are gone on one plane leaves its flows to the other planes: (p - 1) / p.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "hw_models/cluster.h"
#include "hw_models/cluster_numbering.h"
#include "hw_models/fabric_shape.h"

namespace hw_models {

struct FabricFlow {
  int from_nic = 0, to_nic = 0;  ///< in the cluster, on different nodes
  int label = 0;                 ///< tells flows between the same NICs apart
};

/// Of the balanced share of a line. The default: nothing is lost.
struct FlowShare {
  double factor = 1;                                             ///< thin links: of the balanced rate
  BytesPerSecond most{std::numeric_limits<double>::infinity()};  ///< of one NIC: hashed routing
  int flows = 1;  ///< on the cable that bounds it, this one included; 1 also where routing is balanced
  auto operator<=>(const FlowShare&) const = default;

  void add(const FlowShare& other);  ///< the scarcest of both
};

class FabricFlows {
 public:
  explicit FabricFlows(const ClusterSpec& spec);

  /// Neither hashed nor thin: every flow has the default share.
  static bool plain(const ClusterSpec& spec) { return !spec.fabric.hash_seed && !spec.thin_link; }
  /// All flows must be added before the first share is asked for.
  void add(const FabricFlow& flow);
  FlowShare share(const FabricFlow& flow) const;

 private:
  /// Direction (up or down), tier, plane, switch, cable.
  using Cable = std::tuple<bool, int, int, int, int>;

  int leaf(int nic) const;
  int tier(const FabricFlow& flow) const;
  bool on_thin_leaf(const FabricFlow& flow) const;
  bool uses(const FabricFlow& flow, int plane) const;
  std::vector<Cable> cables(const FabricFlow& flow, int plane) const;
  BytesPerSecond rate(const Cable& cable) const;
  double thin_factor(const FabricFlow& flow) const;
  std::uint64_t hash(const FabricFlow& flow, int plane, int tier) const;

  FabricSpec fabric_;
  std::optional<ThinLink> thin_;
  ClusterNumbering number_;
  FabricShape shape_;
  std::map<Cable, int> flows_on_;
};

}  // namespace hw_models
