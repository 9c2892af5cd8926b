// The seam between operations and the network: what a message or a collective costs on the routes and NICs that its
// group really gets. One model prices both, as NCCL would run them (nccl/estimate.h).
//
// A layout says what a group gets: inside a domain the scale-up rate, between domains the NICs that the group's members
// own there, divided among the groups that run at once (group_layout.cpp). The lateness of its last domain is added.
//
// Mixed clusters: a group's rates and latencies are those of its slowest domain. The library agrees on what all members
// have (nccl/group.h): the oldest generation's tuning, NVLS if every node has it. A message runs at its slower end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hw_models/cluster.h"
#include "hw_models/fabric_flows.h"
#include "hw_models/nccl/algorithm.h"
#include "hw_models/operation.h"
#include "hw_models/units.h"

namespace hw_models {

/// What the members on the nodes of one pool of a mixed cluster have of a group's links, in its scarcest domain there.
struct PoolShare {
  int pool = 0;
  BytesPerSecond intra{}, inter{}, inter_per_rank{};  ///< as GroupLayout's
  auto operator<=>(const PoolShare&) const = default;
};

/// How one group lies on the cluster while its sibling groups (same dimensions, other coordinates) run at once.
struct GroupLayout {
  int ranks = 1;
  int domains = 1;  ///< it touches; a domain's GPUs reach each other without a NIC (Cluster::domain_of)
  int nodes = 1;
  int ranks_per_domain = 1;         ///< of the fullest domain
  BytesPerSecond intra{};           ///< per rank inside a domain, this group's share
  BytesPerSecond inter{};           ///< between domains, sum over the NICs this group gets in its scarcest domain
  BytesPerSecond inter_per_rank{};  ///< scarcest NIC share of one rank
  Seconds intra_latency{}, inter_latency{};  ///< one step
  Seconds lateness{};                        ///< expected, of the last domain to join (jitter.h)
  int flows = 1;                             ///< on the group's worst uplink, hashed routing (fabric_flows.h)
  std::vector<PoolShare> pools{};            ///< those that hold members, ascending; empty where all nodes are alike
  auto operator<=>(const GroupLayout&) const = default;
};

struct CollectiveEstimate {
  Seconds time{};
  const char* algorithm = "";  ///< NCCL's name: "Ring"; "messages" (all-to-all), "measured", "none" (nothing to do)
};

struct Message {
  int from_gpu = 0, to_gpu = 0;
};

/// Messages that cross the first NIC of the sender, and of the receiver, at once; >= 1, each counts itself.
struct NicSharers {
  int out = 1, in = 1;
  auto operator<=>(const NicSharers&) const = default;
};

class Network {
 public:
  /// `choice`: what the collective library knows and may use.
  explicit Network(const Cluster& cluster, const NcclChoice& choice = {});

  /// `groups`: all groups of one family, as global GPU indices; they run at once. Returns one layout per group.
  /// Throws std::invalid_argument for an empty group, an unknown GPU or one that is in a group twice.
  std::vector<GroupLayout> layouts(std::span<const std::vector<int>> groups) const;
  CollectiveEstimate collective(Operation operation, Bytes bytes, const GroupLayout& layout) const;
  /// What is left to each of these messages, which run at once.
  std::vector<FlowShare> shares(std::span<const Message> messages) const;
  /// One message, alone in the fabric; `sharers` messages cross either of its NICs at once.
  Seconds send(Bytes bytes, int from_gpu, int to_gpu, int sharers = 1) const;
  Seconds send(Bytes bytes, int from_gpu, int to_gpu, const NicSharers& sharers, const FlowShare& share) const;

 private:
  const Cluster& cluster_;
  NcclChoice choice_;
};

}  // namespace hw_models
