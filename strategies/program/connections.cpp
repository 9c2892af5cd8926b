#include "strategies/program/connections.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <variant>

namespace strategies {
namespace {

/// Calls visit(action, operation index, operation) for every operation of one step of `role`.
template <class Visit>
void for_each_operation(const Role& role, Visit visit) {
  for (std::uint32_t action = 0; action < role.schedule.size(); ++action) {
    const Block& block = role.blocks[role.schedule[action].block];
    for (std::uint32_t i = 0; i < block.operations.size(); ++i) visit(action, i, block.operations[i]);
  }
}

int stage_of(const Program& program, int virtual_stage) {
  return program.stage_of_virtual[static_cast<std::size_t>(virtual_stage)];
}

/// One virtual stage on every stage that `messages` name as their `end`.
std::vector<int> distinct_stages(const Program& program, const std::vector<Message>& messages, int Message::*end) {
  std::map<int, int> by_stage;
  for (const Message& message : messages) by_stage.emplace(stage_of(program, message.*end), message.*end);
  std::vector<int> virtual_stages;
  for (const auto& [stage, virtual_stage] : by_stage) virtual_stages.push_back(virtual_stage);
  return virtual_stages;
}

}  // namespace

std::vector<Message> sends(const Program& program, std::uint32_t role) {
  const Role& owner = program.roles[role];
  std::vector<Message> messages;
  for_each_operation(owner, [&](std::uint32_t action, std::uint32_t i, const Operation& operation) {
    if (const Send* send = std::get_if<Send>(&operation.work)) {
      const int from = owner.blocks[owner.schedule[action].block].virtual_stage;
      messages.push_back({owner.schedule[action].microbatch, from, send->virtual_stage, send->payload, action, i,
                          send->bytes.value()});
    }
  });
  return messages;
}

std::vector<Message> receives(const Program& program, std::uint32_t role) {
  const Role& owner = program.roles[role];
  std::vector<Message> messages;
  for_each_operation(owner, [&](std::uint32_t action, std::uint32_t i, const Operation& operation) {
    if (const Receive* receive = std::get_if<Receive>(&operation.work)) {
      const int to = owner.blocks[owner.schedule[action].block].virtual_stage;
      messages.push_back({owner.schedule[action].microbatch, receive->virtual_stage, to, receive->payload, action, i,
                          receive->bytes.value()});
    }
  });
  return messages;
}

Communicating communicating(const Program& program) {
  Communicating used;
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
    for (const Block& block : program.roles[role].blocks) {
      for (const Operation& operation : block.operations) {
        if (const auto* collective = std::get_if<Collective>(&operation.work)) {
          used.groups.insert(collective->group);
        } else if (const auto* send = std::get_if<Send>(&operation.work)) {
          used.sends.emplace(role, send->virtual_stage);
        }
      }
    }
  }
  return used;
}

std::vector<RolePair> communicating_roles(const Program& program) {
  std::vector<std::vector<int>> targets, origins;
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
    targets.push_back(distinct_stages(program, sends(program, role), &Message::to));
    origins.push_back(distinct_stages(program, receives(program, role), &Message::from));
  }
  std::set<RolePair> pairs;
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank) {
    const std::uint32_t role = program.role_of_rank[static_cast<std::size_t>(rank)];
    const auto peer_role = [&](int virtual_stage) {
      return program.role_of_rank[static_cast<std::size_t>(program.peer(Rank{rank}, virtual_stage).value)];
    };
    for (const int target : targets[role]) pairs.insert({role, peer_role(target)});
    for (const int origin : origins[role]) pairs.insert({peer_role(origin), role});
  }
  return {pairs.begin(), pairs.end()};
}

std::vector<std::uint32_t> group_partners(const Program& program, GroupId group) {
  const Group& family = program.groups[group.value];
  const Mesh& mesh = program.views[static_cast<std::size_t>(family.view)];
  std::vector<std::uint32_t> lowest(program.roles.size());
  std::iota(lowest.begin(), lowest.end(), 0U);
  const auto find = [&](std::uint32_t role) {
    while (lowest[role] != role) role = lowest[role] = lowest[lowest[role]];
    return role;
  };
  std::vector<bool> seen(program.role_of_rank.size());
  for (std::size_t rank = 0; rank < seen.size(); ++rank) {
    if (seen[rank]) continue;
    const std::uint32_t role = program.role_of_rank[rank];
    for (const Rank member : family.members(mesh, Rank{static_cast<std::int32_t>(rank)})) {
      seen[static_cast<std::size_t>(member.value)] = true;
      const std::uint32_t a = find(role), b = find(program.role_of_rank[static_cast<std::size_t>(member.value)]);
      lowest[std::max(a, b)] = std::min(a, b);
    }
  }
  for (std::uint32_t role = 0; role < lowest.size(); ++role) lowest[role] = find(role);
  return lowest;
}

StepOperations::StepOperations(const Program& program) {
  for (const Role& role : program.roles) {
    std::vector<std::uint32_t>& offsets = first.emplace_back(1, 0U);
    for (const Action& action : role.schedule) {
      offsets.push_back(offsets.back() + static_cast<std::uint32_t>(role.blocks[action.block].operations.size()));
    }
  }
}

std::pair<std::uint32_t, std::uint32_t> StepOperations::at(std::uint32_t role, std::uint32_t flat) const {
  const auto after = std::ranges::upper_bound(first[role], flat);
  const auto action = static_cast<std::uint32_t>(after - first[role].begin() - 1);
  return {action, flat - first[role][action]};
}

std::vector<Delivery> deliveries(const Program& program, const StepOperations& operations) {
  using Identity = decltype(Message{}.identity());
  std::vector<Delivery> result;
  std::vector<std::map<Identity, std::uint32_t>> receives_of;
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
    auto& received = receives_of.emplace_back();
    for (const Message& m : receives(program, role)) {
      received.emplace(m.identity(), operations.flat(role, m.action, m.operation));
    }
  }
  for (const auto& [sender, receiver] : communicating_roles(program)) {
    for (const Message& m : sends(program, sender)) {
      if (stage_of(program, m.to) != program.roles[receiver].stage) continue;
      const auto found = receives_of[receiver].find(m.identity());
      if (found == receives_of[receiver].end()) continue;
      result.push_back({sender, operations.flat(sender, m.action, m.operation), receiver, found->second});
    }
  }
  std::ranges::sort(result);
  return result;
}

Meetings::Meetings(const Program& program, const StepOperations& operations) {
  std::vector<std::vector<std::uint32_t>> partners;  // [group][role]
  for (std::uint32_t g = 0; g < program.groups.size(); ++g) partners.push_back(group_partners(program, {g}));
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> series;  // (group, lowest role)
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
    std::vector<std::uint32_t>& mine = of.emplace_back(operations.count(role), kNone);
    std::vector<std::size_t> issued(program.groups.size());
    for_each_operation(program.roles[role], [&](std::uint32_t action, std::uint32_t i, const Operation& operation) {
      const Collective* collective = std::get_if<Collective>(&operation.work);
      if (collective == nullptr) return;
      const std::uint32_t group = collective->group.value;
      std::vector<std::uint32_t>& meetings = series[{group, partners[group][role]}];
      const std::size_t k = issued[group]++;
      if (k == meetings.size()) {
        meetings.push_back(static_cast<std::uint32_t>(roles.size()));
        roles.push_back(static_cast<std::uint32_t>(std::ranges::count(partners[group], partners[group][role])));
      }
      mine[operations.flat(role, action, i)] = meetings[k];
    });
  }
}

}  // namespace strategies
