// The seam between operations and the network: what a message or a collective costs on the routes and NICs that its
// group really gets. This closed alpha-beta form is one implementation; the event-driven network is another.
//
//   ring all-reduce of S bytes over n ranks: t = 2 (n-1) a + 2 (n-1)/n S / B
//   all-gather, reduce-scatter:              t =   (n-1) a +   (n-1)/n S / B
//   broadcast, reduce:                       t =   (n-1) a +             S / B
//   all-to-all (S = bytes one rank sends):   t =   (n-1) a + max over tiers (bytes through the tier / its bandwidth)
//   tree all-reduce over d domains of r:     t = 2 (r-1) a_intra + 2 ceil(log2 d) a_inter + 2 S / B_tree
//   send:                                    t =         a +             S / B
//
// (n-1) a stands for (n-d) a_intra + (d-1) a_inter: the latency of a step inside a domain or between two. B: the
// slowest hop's share for this group: inside a domain the scale-up rate, between domains the NICs the group's members
// own there, divided among the groups that run at once. Each form is priced under two wire protocols, which add a base
// and a latency per step (transfer_protocol.h); the fastest of algorithm x protocol is taken.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hw_models/cluster.h"
#include "hw_models/operation.h"
#include "hw_models/units.h"

namespace hw_models {

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
  auto operator<=>(const GroupLayout&) const = default;
};

struct CollectiveEstimate {
  Seconds time{};
  const char* algorithm = "";  ///< "ring", "tree", "direct" (all-to-all), "none" (nothing to do)
};

class Network {
 public:
  explicit Network(const Cluster& cluster);

  /// `groups`: all groups of one family, as global GPU indices; they run at once. Returns one layout per group.
  /// Throws std::invalid_argument for an empty group, an unknown GPU or one that is in a group twice.
  std::vector<GroupLayout> layouts(std::span<const std::vector<int>> groups) const;
  CollectiveEstimate collective(Operation operation, Bytes bytes, const GroupLayout& layout) const;
  /// One message. `sharers` >= 1 messages cross the sender's NIC at once.
  Seconds send(Bytes bytes, int from_gpu, int to_gpu, int sharers = 1) const;

 private:
  const Cluster& cluster_;
};

}  // namespace hw_models
