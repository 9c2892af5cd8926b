// What every group of a family gets of the links and NICs while all of them run at once.
//
//   NIC share of a group   = nic bandwidth x fabric efficiency / groups on that NIC   [/ oversubscription, see below]
//   inter of a group       = min over its domains of (sum of its shares there)
//   inter per rank         = min over its ranks of (sum of nic bandwidth x efficiency / ranks on that NIC)
//   intra                  = switch: the GPU's rate;  mesh: (members - 1) x pair rate, at most the GPU's;
//                            listed links: the rings that they hold (pair_links.h), where one closes;
//                            PCIe and bridges: the scarcest link of its ring, divided among the rings on that link
//
// In a node with a wiring of its own, a NIC that hangs on another CPU than every member that uses it is reached over
// the link between the CPUs: all such NICs of a CPU's GPUs together give a group (a rank) at most that link's rate /
// groups (ranks) on it.
//
// A group whose members lie in several units, or on different rails of one unit, crosses the leaf uplinks; one whose
// members lie in several pods crosses the cores as well. Its sibling groups do so too, hence it gets the share of its
// NICs that the tiers' oversubscriptions leave (fabric_shape.h).
//
// Thin links and hashed routing (fabric_flows.h): the flows of a group are those of its rings, from every NIC that it
// uses in a domain to the NIC of equal place in the next domain, and back to the first. The scarcest of them holds for
// all of its NICs: the rings carry equal parts. An all-to-all is priced with the same shares, its ranks on a NIC divide
// the ring's.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

#include "hw_models/cluster_numbering.h"
#include "hw_models/fabric_flows.h"
#include "hw_models/fabric_shape.h"
#include "hw_models/jitter.h"
#include "hw_models/network.h"
#include "hw_models/pair_links.h"
#include "hw_models/payload_rate.h"

namespace hw_models {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

using Members = std::span<const int>;

class Family {
 public:
  Family(const Cluster& cluster, std::span<const std::vector<int>> groups)
      : cluster_(cluster), node_(cluster.spec().node), fabric_(cluster.spec().fabric), flows_(cluster.spec()) {
    for (const std::vector<int>& group : groups) add(group);
    nics_.resize(static_cast<std::size_t>(cluster.spec().nodes) * static_cast<std::size_t>(node_.nics));
    far_.resize(static_cast<std::size_t>(cluster.spec().nodes) * static_cast<std::size_t>(node_.numa_domains));
    if (over_pcie()) rings_on_.resize(2 * cluster.links());
    for (std::size_t i = 0; i < members_.size(); ++i) count(static_cast<int>(i), members_[i]);
  }

  GroupLayout layout(std::size_t group) const {
    const std::vector<int>& members = members_[group];
    const std::vector<Members> domains = split(members);
    GroupLayout layout;
    layout.ranks = static_cast<int>(members.size());
    layout.domains = static_cast<int>(domains.size());
    layout.nodes = nodes(members);
    layout.ranks_per_domain = largest(domains);
    if (layout.ranks_per_domain > 1) add_intra(domains, layout);
    if (layout.domains > 1) add_inter(domains, layout);
    return layout;
  }

 private:
  struct Load {
    int groups = 0, ranks = 0;
    int newest_group = -1;

    void add(int group) {
      ++ranks;
      groups += newest_group != group ? 1 : 0;
      newest_group = group;
    }
  };

  bool over_pcie() const {
    return node_.scale_up == ScaleUpKind::kPairs || node_.scale_up == ScaleUpKind::kNone ||
           node_.scale_up == ScaleUpKind::kLinks;
  }

  void add(std::vector<int> group) {
    std::sort(group.begin(), group.end());
    if (group.empty()) throw std::invalid_argument("groups: a group has no members");
    if (group.front() < 0 || group.back() >= cluster_.gpus()) {
      throw std::invalid_argument(fmt::format("groups: GPU {} is not one of the cluster's {}",
                                              group.front() < 0 ? group.front() : group.back(), cluster_.gpus()));
    }
    const auto twice = std::adjacent_find(group.begin(), group.end());
    if (twice != group.end()) throw std::invalid_argument(fmt::format("groups: GPU {} is in a group twice", *twice));
    members_.push_back(std::move(group));
  }

  /// Consecutive members of one domain each. A domain is consecutive GPUs and the members are sorted.
  std::vector<Members> split(Members members) const {
    std::vector<Members> domains;
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= members.size(); ++i) {
      if (i < members.size() && cluster_.domain_of(members[i]) == cluster_.domain_of(members[begin])) continue;
      domains.push_back(members.subspan(begin, i - begin));
      begin = i;
    }
    return domains;
  }

  int nodes(Members members) const {
    int count = 1;
    for (std::size_t i = 1; i < members.size(); ++i) {
      count += cluster_.node_of(members[i]) != cluster_.node_of(members[i - 1]) ? 1 : 0;
    }
    return count;
  }

  static int largest(const std::vector<Members>& domains) {
    std::size_t size = 0;
    for (const Members domain : domains) size = std::max(size, domain.size());
    return static_cast<int>(size);
  }

  void count(int group, Members members) {
    const std::vector<Members> domains = split(members);
    if (domains.size() > 1) {
      for (const Members domain : domains) count_nics(group, domain);
      for (const FabricFlow& flow : ring_flows(domains)) flows_.add(flow);
    }
    if (!over_pcie()) return;
    for (const Members domain : domains) {
      if (node_.scale_up == ScaleUpKind::kLinks && find_linked_ring(domain)) continue;
      for_each_hop(domain, domains.size() == 1, [this](std::size_t direction, const Link&) { ++rings_on_[direction]; });
    }
  }

  std::vector<int> local(Members domain) const {
    std::vector<int> members(domain.begin(), domain.end());
    for (int& member : members) member %= node_.gpus;
    return members;
  }

  /// Nodes are alike: what members with the same local indices get is searched for once.
  bool find_linked_ring(Members domain) {
    const auto [ring, is_new] = linked_rings_.try_emplace(local(domain));
    if (is_new) ring->second = linked_ring_bandwidth(node_, ring->first);
    return ring->second > BytesPerSecond(0);
  }

  void count_nics(int group, Members domain) {
    for (const int gpu : domain) {
      for_each_nic(gpu, [&](int nic) { nics_[static_cast<std::size_t>(nic)].add(group); });
      if (uses_far_nics(domain, gpu)) far_[host_of(gpu)].add(group);
    }
  }

  /// Index of a GPU's CPU in the cluster; for nodes with a wiring of their own.
  std::size_t host_of(int gpu) const {
    const PcieWiring& wiring = *node_.wiring;
    const int pcie = wiring.switch_of_gpu[static_cast<std::size_t>(gpu % node_.gpus)];
    return static_cast<std::size_t>(cluster_.node_of(gpu) * node_.numa_domains +
                                    wiring.host_of_switch[static_cast<std::size_t>(pcie)]);
  }

  /// Whether `nic` hangs on another CPU than every member of `domain` that uses it.
  bool is_far(Members domain, int nic) const {
    if (!node_.wiring) return false;
    const PcieWiring& wiring = *node_.wiring;
    const int pcie = wiring.switch_of_nic[static_cast<std::size_t>(nic % node_.nics)];
    const auto host = static_cast<std::size_t>(nic / node_.nics * node_.numa_domains +
                                               wiring.host_of_switch[static_cast<std::size_t>(pcie)]);
    return std::none_of(domain.begin(), domain.end(), [&](int gpu) {
      const NicSet own = cluster_.nics_of(gpu);
      bool uses = false;
      for (int i = 0; i < own.size(); ++i) uses |= own[i] == nic % node_.nics;
      return uses && host_of(gpu) == host;
    });
  }

  bool uses_far_nics(Members domain, int gpu) const {
    bool far = false;
    if (node_.wiring) for_each_nic(gpu, [&](int nic) { far |= is_far(domain, nic); });
    return far;
  }

  template <class Visit>
  void for_each_nic(int gpu, const Visit& visit) const {
    const int first = cluster_.node_of(gpu) * node_.nics;
    const NicSet own = cluster_.nics_of(gpu);
    for (int i = 0; i < own.size(); ++i) visit(first + own[i]);
  }

  /// Ascending, each once.
  std::vector<int> nics_of(Members domain) const {
    std::vector<int> nics;
    for (const int gpu : domain) {
      for_each_nic(gpu, [&](int nic) { nics.push_back(nic); });
    }
    std::sort(nics.begin(), nics.end());
    nics.erase(std::unique(nics.begin(), nics.end()), nics.end());
    return nics;
  }

  /// None where nobody asks for them.
  std::vector<FabricFlow> ring_flows(const std::vector<Members>& domains) const {
    std::vector<FabricFlow> flows;
    if (FabricFlows::plain(cluster_.spec())) return flows;
    for (std::size_t i = 0; i < domains.size(); ++i) {
      const std::vector<int> from = nics_of(domains[i]), to = nics_of(domains[(i + 1) % domains.size()]);
      for (std::size_t ring = 0; ring < std::max(from.size(), to.size()); ++ring) {
        flows.push_back({from[ring % from.size()], to[ring % to.size()], domains.front().front()});
      }
    }
    return flows;
  }

  /// Every directed link that the ring (closed) or chain (open) over `members` uses: visit(2 link + direction, link).
  template <class Visit>
  void for_each_hop(Members members, bool closed, const Visit& visit) const {
    const std::size_t hops = members.size() < 2 ? 0 : members.size() - (closed ? 0 : 1);
    for (std::size_t i = 0; i < hops; ++i) {
      DeviceId at = cluster_.gpu(members[i]);
      for (const LinkId id : cluster_.route(members[i], members[(i + 1) % members.size()])) {
        const Link& link = cluster_.link(id);
        visit(2 * std::size_t{id.value} + (link.a == at ? 0 : 1), link);
        at = link.a == at ? link.b : link.a;
      }
    }
  }

  void add_intra(const std::vector<Members>& domains, GroupLayout& layout) const {
    layout.intra_latency = node_.scale_up_latency;
    double rate = kUnlimited;
    if (over_pcie()) {
      layout.intra_latency = Seconds(0);
      for (const Members domain : domains) {
        const BytesPerSecond linked = linked_ring(domain);
        const bool closes = linked > BytesPerSecond(0);
        rate =
            std::min(rate, closes ? linked.value() * kScaleUpEfficiency : pcie_ring_rate(domain, domains.size() == 1));
        layout.intra_latency = std::max(layout.intra_latency, closes ? node_.scale_up_latency : slowest_hop(domain));
      }
    } else if (node_.scale_up == ScaleUpKind::kMesh) {
      for (const Members domain : domains) {
        if (domain.size() > 1) {
          const double links = node_.pair_bandwidth.value() * static_cast<double>(domain.size() - 1);
          rate = std::min({rate, links * kScaleUpEfficiency, node_.scale_up_bandwidth.value() * kScaleUpEfficiency});
        }
      }
    } else {
      rate = node_.scale_up_bandwidth.value() * kScaleUpEfficiency;
    }
    layout.intra = BytesPerSecond(rate);
  }

  BytesPerSecond linked_ring(Members domain) const {
    if (linked_rings_.empty()) return BytesPerSecond(0);
    const auto ring = linked_rings_.find(local(domain));
    return ring == linked_rings_.end() ? BytesPerSecond(0) : ring->second;
  }

  double pcie_ring_rate(Members domain, bool closed) const {
    double rate = kUnlimited;
    for_each_hop(domain, closed, [&](std::size_t direction, const Link& link) {
      rate = std::min(rate, payload_rate(link).value() / rings_on_[direction]);
    });
    return rate;
  }

  Seconds slowest_hop(Members domain) const {
    Seconds slowest{};
    for (std::size_t i = 1; i < domain.size(); ++i) {
      Seconds latency{};
      for (const LinkId id : cluster_.route(domain[i - 1], domain[i])) latency += cluster_.link(id).latency;
      slowest = std::max(slowest, latency);
    }
    return slowest;
  }

  void add_inter(const std::vector<Members>& domains, GroupLayout& layout) const {
    const int tier = highest_tier(domains);
    FlowShare share;
    for (const FabricFlow& flow : ring_flows(domains)) share.add(flows_.share(flow));
    const double nic = node_.nic_bandwidth.value() * fabric_.efficiency * share.factor / taper(fabric_, tier);
    const double most = share.most.value();
    const double slot = node_.pcie_bandwidth.value();
    double inter = kUnlimited;
    double per_rank = kUnlimited;
    for (const Members domain : domains) {
      per_rank = std::min({per_rank, slowest_rank(domain, nic, most), slot});
      inter = std::min({inter, domain_share(domain, nic, most), slot * static_cast<double>(domain.size())});
    }
    layout.inter = BytesPerSecond(inter);
    layout.inter_per_rank = BytesPerSecond(per_rank);
    layout.inter_latency = inter_latency(domains, tier);
    layout.lateness = fabric_.jitter * expected_maximum(layout.domains);
    layout.flows = share.flows;
  }

  /// Of the rank that gets least; `nic`: what one NIC gives, `most`: what the group gets of it at most.
  double slowest_rank(Members domain, double nic, double most) const {
    double slowest = kUnlimited;
    for (const int gpu : domain) {
      double near = 0, far = 0;
      for_each_nic(gpu, [&](int index) {
        const Load& load = nics_[static_cast<std::size_t>(index)];
        const double share = std::min(nic / load.ranks, most * load.groups / load.ranks);
        (is_far(domain, index) ? far : near) += share;
      });
      if (far > 0) far = std::min(far, host_link_bandwidth(node_).value() / far_[host_of(gpu)].ranks);
      slowest = std::min(slowest, near + far);
    }
    return slowest;
  }

  /// Of all members in a domain together. Several of them may use the same NIC.
  double domain_share(Members domain, double nic, double most) const {
    double near = 0;
    std::map<std::size_t, double> far;  // by CPU
    std::vector<int> used;              // ascending
    for (const int gpu : domain) {
      for_each_nic(gpu, [&](int index) {
        const auto at = std::lower_bound(used.begin(), used.end(), index);
        if (at != used.end() && *at == index) return;
        used.insert(at, index);
        const double share = std::min(nic / nics_[static_cast<std::size_t>(index)].groups, most);
        if (is_far(domain, index)) {
          far[host_of(gpu)] += share;
        } else {
          near += share;
        }
      });
    }
    for (const auto& [host, sum] : far) near += std::min(sum, host_link_bandwidth(node_).value() / far_[host].groups);
    return near;
  }

  /// Members are sorted: the first and the last node are farthest apart.
  int highest_tier(const std::vector<Members>& domains) const {
    const int nodes =
        fabric_tier(fabric_, cluster_.node_of(domains.front().front()), cluster_.node_of(domains.back().back()));
    if (nodes > kLeafTier || fabric_.kind != FabricKind::kRailOptimized) return nodes;
    const std::vector<int> rails = rails_of(domains.front());
    const auto others = [&](Members domain) { return rails_of(domain) != rails; };
    return std::any_of(domains.begin(), domains.end(), others) ? kSpineTier : kLeafTier;
  }

  std::vector<int> rails_of(Members domain) const {
    std::vector<int> rails;
    for (const int gpu : domain) {
      for_each_nic(gpu, [&](int nic) { rails.push_back(nic % node_.nics); });
    }
    std::sort(rails.begin(), rails.end());
    rails.erase(std::unique(rails.begin(), rails.end()), rails.end());
    return rails;
  }

  /// GPU to NIC on both sides, the NICs themselves, and the switches of the highest tier.
  Seconds inter_latency(const std::vector<Members>& domains, int tier) const {
    Seconds latency = fabric_.endpoint_latency + fabric_.switch_latency * switches_crossed(tier);
    for (const LinkId id : cluster_.route(domains.front().front(), domains.back().front())) {
      const Link& link = cluster_.link(id);
      if (link.kind == LinkClass::kPcie || link.kind == LinkClass::kHostBridge) latency += link.latency;
    }
    return latency;
  }

  const Cluster& cluster_;
  const NodeSpec& node_;
  const FabricSpec& fabric_;
  FabricFlows flows_;
  std::vector<std::vector<int>> members_;
  std::vector<Load> nics_;                                   // by global NIC
  std::vector<Load> far_;                                    // by CPU: what reaches its NICs over the link between CPUs
  std::vector<int> rings_on_;                                // by 2 link + direction; PCIe nodes only
  std::map<std::vector<int>, BytesPerSecond> linked_rings_;  // by local members; kLinks only
};

}  // namespace

std::vector<GroupLayout> Network::layouts(std::span<const std::vector<int>> groups) const {
  const Family family(cluster_, groups);
  std::vector<GroupLayout> layouts;
  layouts.reserve(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) layouts.push_back(family.layout(i));
  return layouts;
}

}  // namespace hw_models
