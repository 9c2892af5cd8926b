#include "strategies/placement/placement.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace strategies {
namespace {

Placement packed_on(const Program& program, int /*gpus_per_host*/) { return packed(program); }

/// tp, cp, the others in their order, dp.
std::vector<int> tensor_first(const Mesh& mesh) {
  std::vector<int> order;
  for (const char* name : {"tp", "cp"}) {
    if (mesh.find(name) >= 0) order.push_back(mesh.find(name));
  }
  const int data = mesh.find("dp");
  for (int d = 0; d < static_cast<int>(mesh.dimensions.size()); ++d) {
    if (d != data && std::ranges::find(order, d) == order.end()) order.push_back(d);
  }
  if (data >= 0) order.push_back(data);
  return order;
}

/// By rank: its place if all ranks of one replica came before the next replica's. O(ranks x dimensions).
std::vector<int> positions(const Program& program) {
  std::vector<int> result(program.role_of_rank.size());
  if (program.views.empty()) return result;
  const Mesh& mesh = program.views.front();
  int stride = 1;
  for (const int dimension : tensor_first(mesh)) {
    for (int rank = 0; rank < program.ranks(); ++rank) {
      result[static_cast<std::size_t>(rank)] += stride * mesh.coordinate(Rank{rank}, dimension);
    }
    stride *= mesh.dimensions[static_cast<std::size_t>(dimension)].extent;
  }
  return result;
}

Placement on_rails(const Program& program, int gpus_per_host) {
  Placement placement;
  std::vector<int> taken(static_cast<std::size_t>(gpus_per_host));  // by device: ranks so far
  for (const int position : positions(program)) {
    const int device = position % gpus_per_host;
    placement.gpu.push_back(taken[static_cast<std::size_t>(device)]++ * gpus_per_host + device);
  }
  return placement;
}

constexpr std::array<PlacementRule, 2> kRules{{
    {"packed", "consecutive ranks on consecutive GPUs", packed_on},
    {"rail", "replicas of the same share of the model on the same device of different nodes", on_rails},
}};

}  // namespace

std::span<const PlacementRule> placement_rules() { return kRules; }

const PlacementRule* find_placement_rule(std::string_view name) {
  const auto found = std::ranges::find(kRules, name, &PlacementRule::name);
  return found == kRules.end() ? nullptr : &*found;
}

std::map<int, int> PlacementChoice::chosen_nics(int gpus_per_host) const {
  std::map<int, int> chosen;
  for (const Seat& seat : seats) {
    if (seat.nic >= 0) chosen[seat.host * gpus_per_host + seat.device] = seat.nic;
  }
  return chosen;
}

Placement packed(const Program& program) {
  Placement placement;
  placement.gpu.resize(program.role_of_rank.size());
  std::iota(placement.gpu.begin(), placement.gpu.end(), 0);
  return placement;
}

Placement place(const Program& program, const PlacementChoice& choice, int gpus_per_host) {
  if (!choice.listed()) {
    const PlacementRule* rule = find_placement_rule(choice.rule);
    if (rule == nullptr) throw std::invalid_argument("no placement is called '" + choice.rule + "'");
    return rule->place(program, gpus_per_host);
  }
  if (choice.seats.size() != program.role_of_rank.size()) {
    throw std::invalid_argument("seats of " + std::to_string(choice.seats.size()) + " ranks, the program has " +
                                std::to_string(program.ranks()));
  }
  Placement placement;
  for (const Seat& seat : choice.seats) placement.gpu.push_back(seat.host * gpus_per_host + seat.device);
  return placement;
}

Seat seat_of(const Placement& placement, const hw_models::Cluster& cluster, Rank rank) {
  const int gpu = placement.gpu[static_cast<std::size_t>(rank.value)];
  const int host = cluster.node_of(gpu);
  const int nic = cluster.nic_of(gpu);
  return {host, cluster.local_of(gpu), nic < 0 ? -1 : nic - host * cluster.nic_stride()};
}

std::vector<std::vector<int>> placed_groups(const Program& program, GroupId group, const Placement& placement) {
  return placed_groups(program, program.groups[group.value], placement);
}

std::vector<std::vector<int>> placed_groups(const Program& program, const Group& family, const Placement& placement) {
  const Mesh& mesh = program.views[static_cast<std::size_t>(family.view)];
  std::vector<std::vector<int>> groups;
  std::vector<bool> seen(program.role_of_rank.size());
  // Ranks ascend, so the first one not seen yet is the lowest of its group. O(ranks) in total.
  for (std::size_t rank = 0; rank < seen.size(); ++rank) {
    if (seen[rank]) continue;
    std::vector<int> gpus;
    for (const Rank member : family.members(mesh, Rank{static_cast<std::int32_t>(rank)})) {
      const auto index = static_cast<std::size_t>(member.value);
      seen[index] = true;
      gpus.push_back(placement.gpu[index]);
    }
    if (!gpus.empty()) groups.push_back(std::move(gpus));
  }
  return groups;
}

}  // namespace strategies
