#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <variant>

#include "strategies/program/check_parts.h"

namespace strategies {
namespace {

struct Issued {
  const Collective* collective = nullptr;
  std::uint32_t action = 0, operation = 0;
};

/// The collectives of one family that `role` issues in a step, in program order.
std::vector<Issued> issued_by(const Role& role, GroupId group) {
  std::vector<Issued> result;
  for (std::uint32_t action = 0; action < role.schedule.size(); ++action) {
    const Block& block = role.blocks[role.schedule[action].block];
    for (std::uint32_t i = 0; i < block.operations.size(); ++i) {
      const Collective* collective = std::get_if<Collective>(&block.operations[i].work);
      if (collective != nullptr && collective->group == group) result.push_back({collective, action, i});
    }
  }
  return result;
}

std::string described(const Collective& c) {
  std::string members;
  if (!c.member_bytes.empty()) members = ", uneven";
  return fmt::format("{} of {} bytes ({}, {}{})", name(c.kind), c.bytes.value(), hw_models::info(c.dtype).name,
                     c.algorithm, members);
}

class Family {
 public:
  Family(const Program& program, GroupId group, std::vector<std::string>& defects)
      : program_(program), group_(group), defects_(defects) {
    for (const Role& role : program.roles) issued_.push_back(issued_by(role, group));
  }

  void check() {
    const Group& family = program_.groups[group_.value];
    const Mesh& mesh = program_.views[static_cast<std::size_t>(family.view)];
    std::vector<bool> seen(program_.role_of_rank.size());
    std::set<std::uint32_t> outside;
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;  // a group's first member and another: roles
    for (std::size_t rank = 0; rank < seen.size(); ++rank) {
      if (seen[rank]) continue;
      const std::uint32_t role = program_.role_of_rank[rank];
      const std::vector<Rank> members = family.members(mesh, Rank{static_cast<std::int32_t>(rank)});
      if (members.empty()) outside.insert(role);
      for (const Rank member : members) {
        seen[static_cast<std::size_t>(member.value)] = true;
        pairs.insert({role, program_.role_of_rank[static_cast<std::size_t>(member.value)]});
      }
    }
    for (const std::uint32_t role : outside) check_outside(role);
    for (const auto& [first, other] : pairs) check_pair(first, other);
  }

 private:
  void check_outside(std::uint32_t role) {
    if (issued_[role].empty()) return;
    const Issued& first = issued_[role].front();
    defects_.push_back(fmt::format("{}: a rank of this role is in no group \"{}\"",
                                   place_in_action(program_, role, first.action, first.operation),
                                   program_.groups[group_.value].name));
  }

  void check_pair(std::uint32_t first, std::uint32_t other) {
    if (first == other) return;
    const auto& a = issued_[first];
    const auto& b = issued_[other];
    const auto differ =
        std::ranges::mismatch(a, b, [](const Issued& x, const Issued& y) { return *x.collective == *y.collective; });
    const std::string family =
        fmt::format("collective {} in group \"{}\"", differ.in1 - a.begin(), program_.groups[group_.value].name);
    if (differ.in1 != a.end() && differ.in2 != b.end()) {
      defects_.push_back(fmt::format("{}: {} is {}, for {} it is {}",
                                     place_in_action(program_, first, differ.in1->action, differ.in1->operation),
                                     family, described(*differ.in1->collective),
                                     place_in_action(program_, other, differ.in2->action, differ.in2->operation),
                                     described(*differ.in2->collective)));
    } else if (differ.in1 != a.end()) {
      report_lonely(first, *differ.in1, family, other);
    } else if (differ.in2 != b.end()) {
      report_lonely(other, *differ.in2, family, first);
    }
  }

  void report_lonely(std::uint32_t role, const Issued& issued, const std::string& family, std::uint32_t missing) {
    defects_.push_back(fmt::format("{}: {} is {}, {} issues none",
                                   place_in_action(program_, role, issued.action, issued.operation), family,
                                   described(*issued.collective), place_of_role(program_, missing)));
  }

  const Program& program_;
  GroupId group_;
  std::vector<std::string>& defects_;
  std::vector<std::vector<Issued>> issued_;  ///< by role
};

}  // namespace

void check_collectives(const Program& program, std::vector<std::string>& defects) {
  for (std::uint32_t group = 0; group < program.groups.size(); ++group) {
    Family(program, GroupId{group}, defects).check();
  }
}

}  // namespace strategies
