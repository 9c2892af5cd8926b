#include "strategies/placement/group_spread.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "hw_models/cluster_numbering.h"
#include "hw_models/fabric_shape.h"
#include "strategies/program/connections.h"

namespace strategies {
namespace {

using hw_models::Cluster;
using Members = std::vector<int>;  ///< GPUs

void widen(Extent& extent, int value) {
  extent.least = extent.least == 0 ? value : std::min(extent.least, value);
  extent.most = std::max(extent.most, value);
}

class Survey {
 public:
  explicit Survey(const Cluster& cluster) : cluster_(cluster) {}

  FamilySpread of(const std::string& name, const std::vector<Members>& groups, bool chains) const {
    FamilySpread spread;
    spread.name = name;
    spread.groups = static_cast<int>(groups.size());
    spread.ranks = static_cast<int>(groups.front().size());
    for (const Members& group : groups) add(group, chains, spread);
    return spread;
  }

 private:
  bool has_rails() const {
    return cluster_.spec().fabric.kind == hw_models::FabricKind::kRailOptimized && cluster_.nic_stride() > 0;
  }

  void add(const Members& stages, bool chain, FamilySpread& spread) const {
    Members members = stages;
    std::ranges::sort(members);
    const std::vector<Members> domains = parts(members, [this](int gpu) { return cluster_.domain_of(gpu); });
    const std::vector<Members> hosts = parts(members, [this](int gpu) { return cluster_.node_of(gpu); });
    widen(spread.domains, static_cast<int>(domains.size()));
    widen(spread.hosts, static_cast<int>(hosts.size()));
    for (const Members& host : hosts) widen(spread.ranks_per_host, static_cast<int>(host.size()));
    widen(spread.rails, static_cast<int>(rails(members).size()));
    if (domains.size() == 1) return;
    ++spread.across_domains;
    const int tier = hw_models::fabric_tier(cluster_.spec().fabric, cluster_.node_of(members.front()),
                                            cluster_.node_of(members.back()));
    if (tier > hw_models::kLeafTier) ++spread.across_units;
    if (has_rails() && (chain ? breaks_rail(stages) : rails_differ(domains))) ++spread.misrailed;
  }

  /// Sorted members, cut where `place` changes.
  template <class Place>
  static std::vector<Members> parts(const Members& members, const Place& place) {
    std::vector<Members> result;
    for (const int gpu : members) {
      if (result.empty() || place(result.back().back()) != place(gpu)) result.emplace_back();
      result.back().push_back(gpu);
    }
    return result;
  }

  std::set<int> rails(const Members& members) const {
    std::set<int> found;
    for (const int gpu : members) {
      const hw_models::NicSet nics = cluster_.nics_of(gpu);
      for (int i = 0; i < nics.size(); ++i) found.insert(nics[i]);
    }
    return found;
  }

  bool rails_differ(const std::vector<Members>& domains) const {
    const std::set<int> first = rails(domains.front());
    return std::ranges::any_of(domains, [&](const Members& domain) { return rails(domain) != first; });
  }

  bool breaks_rail(const Members& stages) const {
    for (std::size_t i = 1; i < stages.size(); ++i) {
      if (cluster_.domain_of(stages[i - 1]) == cluster_.domain_of(stages[i])) continue;
      if (cluster_.nics_of(stages[i - 1]).first() != cluster_.nics_of(stages[i]).first()) return true;
    }
    return false;
  }

  const Cluster& cluster_;
};

}  // namespace

std::vector<FamilySpread> spread_families(const Program& program, const Placement& placement, const Cluster& cluster) {
  const Survey survey(cluster);
  std::vector<FamilySpread> families;
  const auto add = [&](const std::string& name, const Group& family, bool chain) {
    if (family.size(program.views[static_cast<std::size_t>(family.view)]) < 2) return;
    families.push_back(survey.of(name, placed_groups(program, family, placement), chain));
  };
  const Communicating used = communicating(program);
  for (const GroupId id : used.groups) add(program.groups[id.value].name, program.groups[id.value], false);
  const int stages = program.views.empty() ? -1 : program.views.front().find("pp");
  if (!used.sends.empty() && stages >= 0) add("pipeline", Group{"pipeline", 0, {{stages, {}}}}, true);
  return families;
}

}  // namespace strategies
