#include "sim/uplink_collisions.h"

#include <algorithm>
#include <vector>

#include "hw_models/network.h"
#include "strategies/program/connections.h"

namespace sim {
namespace {

int worst_message(const strategies::Program& program, const hw_models::Network& network,
                  const strategies::Placement& placement, std::uint32_t role, int virtual_stage) {
  const auto gpu_of = [&](strategies::Rank rank) { return placement.gpu[static_cast<std::size_t>(rank.value)]; };
  std::vector<hw_models::Message> messages;
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank) {
    if (program.role_of_rank[static_cast<std::size_t>(rank)] != role) continue;
    const strategies::Rank sender{rank};
    messages.push_back({gpu_of(sender), gpu_of(program.peer(sender, virtual_stage))});
  }
  int worst = 1;
  for (const hw_models::FlowShare& share : network.shares(messages)) worst = std::max(worst, share.flows);
  return worst;
}

}  // namespace

std::vector<UplinkCollisions> uplink_collisions(const strategies::Program& program, const hw_models::Cluster& cluster,
                                                const strategies::Placement& placement) {
  const hw_models::Network network(cluster);
  const strategies::Communicating used = strategies::communicating(program);
  std::vector<UplinkCollisions> result;
  for (const strategies::GroupId group : used.groups) {
    UplinkCollisions& worst = result.emplace_back(UplinkCollisions{program.groups[group.value].name});
    for (const auto& layout : network.layouts(strategies::placed_groups(program, group, placement))) {
      worst.flows = std::max(worst.flows, layout.flows);
    }
  }
  if (used.sends.empty()) return result;
  UplinkCollisions& messages = result.emplace_back(UplinkCollisions{"messages"});
  for (const auto& [role, virtual_stage] : used.sends) {
    messages.flows = std::max(messages.flows, worst_message(program, network, placement, role, virtual_stage));
  }
  return result;
}

}  // namespace sim
