// What every group of a family gets of the links and NICs while all of them run at once.
//
//   NIC share of a group   = nic bandwidth x fabric efficiency / groups on that NIC   [/ oversubscription, see below]
//   inter of a group       = min over its domains of (sum of its shares there)
//   inter per rank         = min over its ranks of (sum of nic bandwidth x efficiency / ranks on that NIC)
//   intra                  = switch: the GPU's rate;  mesh: (members - 1) x pair rate, at most the GPU's;
//                            listed links: the rings that they hold (pair_links.h), where one closes;
//                            PCIe and bridges: the scarcest link of its ring, divided among the rings on that link
//
// In a mixed cluster every domain has the rates of its own node; a group gets those of the scarcest.
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
      : cluster_(cluster), fabric_(cluster.spec().fabric), flows_(cluster.spec()) {
    for (const std::vector<int>& group : groups) add(group);
    bool pcie = false;
    for (std::size_t pool = 0; pool < cluster.spec().pool_count(); ++pool) {
      const NodeSpec& node = cluster.spec().node_of_pool(pool);
      pcie |= over_pcie(node);
      hosts_ = std::max(hosts_, node.numa_domains);
    }
    nics_.resize(static_cast<std::size_t>(cluster.spec().nodes) * static_cast<std::size_t>(cluster.nic_stride()));
    far_.resize(static_cast<std::size_t>(cluster.spec().nodes) * static_cast<std::size_t>(hosts_));
    if (pcie) rings_on_.resize(2 * cluster.links());
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
    if (cluster_.spec().mixed()) add_pools(domains, layout);
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

  static bool over_pcie(const NodeSpec& node) {
    return node.scale_up == ScaleUpKind::kPairs || node.scale_up == ScaleUpKind::kNone ||
           node.scale_up == ScaleUpKind::kLinks;
  }

  /// All nodes of a domain are alike.
  const NodeSpec& node_of(Members domain) const { return cluster_.node_spec(domain.front()); }

  /// Pools of the domains, ascending as the members are.
  void add_pools(const std::vector<Members>& domains, GroupLayout& layout) const {
    const BytesPerSecond unlimited(kUnlimited);
    for (const Members domain : domains) {
      const int pool = cluster_.pool_of(domain.front());
      if (layout.pools.empty() || layout.pools.back().pool != pool)
        layout.pools.push_back({pool, unlimited, unlimited, unlimited});
    }
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
    for (const Members domain : domains) {
      if (!over_pcie(node_of(domain))) continue;
      if (node_of(domain).scale_up == ScaleUpKind::kLinks && find_linked_ring(domain)) continue;
      for_each_hop(domain, domains.size() == 1, [this](std::size_t direction, const Link&) { ++rings_on_[direction]; });
    }
  }

  /// The domain's pool, then its members inside their node.
  std::vector<int> local(Members domain) const {
    std::vector<int> members{cluster_.pool_of(domain.front())};
    for (const int gpu : domain) members.push_back(cluster_.local_of(gpu));
    return members;
  }

  /// Nodes of a pool are alike: what members with the same local indices get is searched for once.
  bool find_linked_ring(Members domain) {
    const auto [ring, is_new] = linked_rings_.try_emplace(local(domain));
    if (is_new) ring->second = linked_ring_bandwidth(node_of(domain), Members(ring->first).subspan(1));
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
    const PcieWiring& wiring = *cluster_.node_spec(gpu).wiring;
    const int pcie = wiring.switch_of_gpu[static_cast<std::size_t>(cluster_.local_of(gpu))];
    return host_index(cluster_.node_of(gpu), wiring, pcie);
  }

  std::size_t host_index(int node, const PcieWiring& wiring, int pcie_switch) const {
    return static_cast<std::size_t>(node * hosts_ + wiring.host_of_switch[static_cast<std::size_t>(pcie_switch)]);
  }

  /// Whether `nic` hangs on another CPU than every member of `domain` that uses it.
  bool is_far(Members domain, int nic) const {
    if (!node_of(domain).wiring) return false;
    const PcieWiring& wiring = *node_of(domain).wiring;
    const int index = nic % cluster_.nic_stride();
    const int pcie = wiring.switch_of_nic[static_cast<std::size_t>(index)];
    const std::size_t host = host_index(nic / cluster_.nic_stride(), wiring, pcie);
    return std::none_of(domain.begin(), domain.end(), [&](int gpu) {
      const NicSet own = cluster_.nics_of(gpu);
      bool uses = false;
      for (int i = 0; i < own.size(); ++i) uses |= own[i] == index;
      return uses && host_of(gpu) == host;
    });
  }

  bool uses_far_nics(Members domain, int gpu) const {
    bool far = false;
    if (node_of(domain).wiring) for_each_nic(gpu, [&](int nic) { far |= is_far(domain, nic); });
    return far;
  }

  template <class Visit>
  void for_each_nic(int gpu, const Visit& visit) const {
    const int first = cluster_.node_of(gpu) * cluster_.nic_stride();
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
    double rate = kUnlimited;
    for (const Members domain : domains) {
      const bool closed = domains.size() == 1;
      const double own = intra_rate(domain, closed);
      rate = std::min(rate, own);
      layout.intra_latency = std::max(layout.intra_latency, intra_latency(domain));
      if (PoolShare* share = share_of(domain, layout)) share->intra = std::min(share->intra, BytesPerSecond(own));
    }
    layout.intra = BytesPerSecond(rate);
  }

  PoolShare* share_of(Members domain, GroupLayout& layout) const {
    const auto found = std::ranges::find(layout.pools, cluster_.pool_of(domain.front()), &PoolShare::pool);
    return found == layout.pools.end() ? nullptr : &*found;
  }

  /// Per rank of a domain.
  double intra_rate(Members domain, bool closed) const {
    const NodeSpec& node = node_of(domain);
    if (over_pcie(node)) {
      const BytesPerSecond linked = linked_ring(domain);
      return linked > BytesPerSecond(0) ? linked.value() * kScaleUpEfficiency : pcie_ring_rate(domain, closed);
    }
    const double most = node.scale_up_bandwidth.value() * kScaleUpEfficiency;
    if (node.scale_up != ScaleUpKind::kMesh) return most;
    if (domain.size() < 2) return kUnlimited;
    return std::min(node.pair_bandwidth.value() * static_cast<double>(domain.size() - 1) * kScaleUpEfficiency, most);
  }

  Seconds intra_latency(Members domain) const {
    const NodeSpec& node = node_of(domain);
    return over_pcie(node) && linked_ring(domain) <= BytesPerSecond(0) ? slowest_hop(domain) : node.scale_up_latency;
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
    const double most = share.most.value();
    double inter = kUnlimited;
    double per_rank = kUnlimited;
    for (const Members domain : domains) {
      const NodeSpec& node = node_of(domain);
      const double nic = node.nic_bandwidth.value() * fabric_.efficiency * share.factor / taper(fabric_, tier);
      const double slot = node.pcie_bandwidth.value();
      const double own = std::min(domain_share(domain, nic, most), slot * static_cast<double>(domain.size()));
      const double own_rank = std::min(slowest_rank(domain, nic, most), slot);
      per_rank = std::min(per_rank, own_rank);
      inter = std::min(inter, own);
      PoolShare* pool = share_of(domain, layout);
      if (pool == nullptr) continue;
      pool->inter = std::min(pool->inter, BytesPerSecond(own));
      pool->inter_per_rank = std::min(pool->inter_per_rank, BytesPerSecond(own_rank));
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
      if (far > 0) far = std::min(far, host_link_bandwidth(node_of(domain)).value() / far_[host_of(gpu)].ranks);
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
    const double host_link = host_link_bandwidth(node_of(domain)).value();
    for (const auto& [host, sum] : far) near += std::min(sum, host_link / far_[host].groups);
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
      for_each_nic(gpu, [&](int nic) { rails.push_back(nic % cluster_.nic_stride()); });
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
  const FabricSpec& fabric_;
  int hosts_ = 1;  // CPUs of the node that has most
  FabricFlows flows_;
  std::vector<std::vector<int>> members_;
  std::vector<Load> nics_;                                   // by global NIC
  std::vector<Load> far_;                                    // by CPU: what reaches its NICs over the link between CPUs
  std::vector<int> rings_on_;                                // by 2 link + direction; PCIe nodes only
  std::map<std::vector<int>, BytesPerSecond> linked_rings_;  // by pool and local members; kLinks only
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
