#include "sim/rank_classes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

namespace sim {
namespace {

using strategies::Program;
using strategies::Rank;

using Colours = std::vector<std::uint32_t>;  ///< by rank

/// Whom the ranks of a role communicate with.
struct Partners {
  std::set<std::uint32_t> groups;
  std::map<int, int> peers;  ///< stage -> one of its virtual stages
};

std::vector<Partners> partners_of_roles(const Program& program) {
  std::vector<Partners> result;
  for (const strategies::Role& role : program.roles) {
    Partners& partners = result.emplace_back();
    const auto add_peer = [&](int virtual_stage) {
      partners.peers.emplace(program.stage_of_virtual[static_cast<std::size_t>(virtual_stage)], virtual_stage);
    };
    for (const strategies::Block& block : role.blocks) {
      for (const strategies::Operation& operation : block.operations) {
        if (const auto* collective = std::get_if<strategies::Collective>(&operation.work)) {
          partners.groups.insert(collective->group.value);
        }
        if (const auto* send = std::get_if<strategies::Send>(&operation.work)) add_peer(send->virtual_stage);
        if (const auto* receive = std::get_if<strategies::Receive>(&operation.work)) add_peer(receive->virtual_stage);
      }
    }
  }
  return result;
}

/// Numbers for equal values.
template <class Value>
class Numbering {
 public:
  std::uint32_t of(const Value& value) {
    return numbers_.try_emplace(value, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<Value, std::uint32_t> numbers_;
};

/// By rank: a number for the colours of all members of its group, counted.
Colours colours_met(const Program& program, std::uint32_t group, const Colours& colours) {
  constexpr auto kUnseen = static_cast<std::uint32_t>(-1);
  const strategies::Group& family = program.groups[group];
  const strategies::Mesh& mesh = program.views[static_cast<std::size_t>(family.view)];
  Numbering<Colours> numbering;
  Colours result(colours.size(), kUnseen);
  for (std::size_t rank = 0; rank < result.size(); ++rank) {
    if (result[rank] != kUnseen) continue;
    const std::vector<Rank> members = family.members(mesh, Rank{static_cast<std::int32_t>(rank)});
    Colours met;
    for (const Rank member : members) met.push_back(colours[static_cast<std::size_t>(member.value)]);
    std::ranges::sort(met);
    result[rank] = numbering.of(met);
    for (const Rank member : members) result[static_cast<std::size_t>(member.value)] = result[rank];
  }
  return result;
}

/// One round: `colours` refined by whom the ranks meet; the number of colours.
std::size_t refine(const Program& program, const std::vector<Partners>& partners, Colours& colours) {
  std::vector<Colours> met;  // by group; empty when nobody uses it
  for (std::uint32_t group = 0; group < program.groups.size(); ++group) {
    const bool used = std::ranges::any_of(partners, [&](const Partners& role) { return role.groups.contains(group); });
    met.push_back(used ? colours_met(program, group, colours) : Colours{});
  }
  Numbering<Colours> numbering;
  Colours refined;
  for (std::size_t rank = 0; rank < colours.size(); ++rank) {
    const Partners& own = partners[program.role_of_rank[rank]];
    Colours seen{colours[rank]};
    for (const std::uint32_t group : own.groups) seen.push_back(met[group][rank]);
    for (const auto& [stage, virtual_stage] : own.peers) {
      const Rank peer = program.peer(Rank{static_cast<std::int32_t>(rank)}, virtual_stage);
      seen.push_back(colours[static_cast<std::size_t>(peer.value)]);
    }
    refined.push_back(numbering.of(seen));
  }
  colours = std::move(refined);
  return numbering.size();
}

/// Classes of equal colour; ranks of one colour have one role.
RankClasses classes_of(const RankClasses& singles, const Colours& colours) {
  std::map<std::uint32_t, std::uint32_t> class_of_colour;
  RankClasses classes;
  classes.of_rank.resize(colours.size());
  for (const RankClass& single : singles.all) {  // in order of roles, then ranks
    const auto rank = static_cast<std::size_t>(single.representative.value);
    const auto next = static_cast<std::uint32_t>(classes.size());
    const auto [found, added] = class_of_colour.try_emplace(colours[rank], next);
    if (added) {
      classes.all.push_back(single);
    } else {
      ++classes.all[found->second].ranks;
    }
    classes.of_rank[rank] = found->second;
  }
  return classes;
}

}  // namespace

RankClasses classes_by_role(const Program& program) {
  RankClasses classes;
  const std::vector<Rank> representatives = program.representatives();
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
    classes.all.push_back({.role = role, .representative = representatives[role]});
  }
  classes.of_rank = program.role_of_rank;
  for (const std::uint32_t role : program.role_of_rank) ++classes.all[role].ranks;
  return classes;
}

RankClasses single_ranks(const Program& program, const std::vector<SlowGpu>& slow) {
  RankClasses classes;
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank) {
    classes.all.push_back({program.role_of_rank[static_cast<std::size_t>(rank)], Rank{rank}, 1, 1});
  }
  for (const SlowGpu& each : slow) {
    if (each.rank.value < 0 || each.rank.value >= program.ranks()) {
      throw std::invalid_argument("the slow rank " + std::to_string(each.rank.value) + " is none of " +
                                  std::to_string(program.ranks()));
    }
    classes.all[static_cast<std::size_t>(each.rank.value)].speed = each.speed;
  }
  std::ranges::stable_sort(classes.all, {}, &RankClass::role);
  classes.of_rank.resize(classes.size());
  for (std::uint32_t i = 0; i < classes.size(); ++i) {
    classes.of_rank[static_cast<std::size_t>(classes.all[i].representative.value)] = i;
  }
  return classes;
}

RankClasses folded(const Program& program, const RankClasses& singles, const std::vector<std::uint32_t>& own) {
  Numbering<std::tuple<std::uint32_t, double, std::uint32_t>> start;
  Colours colours(own.size());
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    const RankClass& single = singles.all[singles.of_rank[rank]];
    colours[rank] = start.of({single.role, single.speed, own[rank]});
  }
  const std::vector<Partners> partners = partners_of_roles(program);
  for (std::size_t before = 0, count = start.size(); count != before;) {
    before = count;
    count = refine(program, partners, colours);
  }
  return classes_of(singles, colours);
}

}  // namespace sim
