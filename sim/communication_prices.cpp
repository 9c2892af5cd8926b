#include "sim/communication_prices.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "hw_models/cluster_numbering.h"
#include "hw_models/fabric_shape.h"

namespace sim {
namespace {

using hw_models::Bytes;
using hw_models::CollectiveEstimate;
using hw_models::GroupLayout;
using hw_models::NicSet;
using hw_models::Seconds;
using strategies::GroupId;
using strategies::Rank;

hw_models::Operation operation_of(strategies::CollectiveKind kind) {
  using strategies::CollectiveKind;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return hw_models::Operation::kAllReduce;
    case CollectiveKind::kReduceScatter:
      return hw_models::Operation::kReduceScatter;
    case CollectiveKind::kAllGather:
      return hw_models::Operation::kAllGather;
    case CollectiveKind::kBroadcast:
      return hw_models::Operation::kBroadcast;
    case CollectiveKind::kReduce:
      return hw_models::Operation::kReduce;
    case CollectiveKind::kAllToAll:
      return hw_models::Operation::kAllToAll;
    case CollectiveKind::kShiftNext:
    case CollectiveKind::kShiftPrevious:
      return hw_models::Operation::kSendReceive;
  }
  throw std::invalid_argument("unknown collective kind");
}

}  // namespace

CollectivePrices::CollectivePrices(const strategies::Program& program, const RankClasses& classes,
                                   const hw_models::Cluster& cluster, const strategies::Placement& placement,
                                   const hw_models::Network& network, std::vector<int> rank_of_gpu)
    : program_(program),
      classes_(classes),
      cluster_(cluster),
      placement_(placement),
      network_(network),
      rank_of_gpu_(std::move(rank_of_gpu)) {}

Bytes priced_bytes(const strategies::Collective& collective) {
  return collective.member_bytes.empty() ? collective.bytes : std::ranges::max(collective.member_bytes);
}

const TransferPrice& CollectivePrices::of(const strategies::Collective& collective, std::uint32_t process) {
  if (collective.algorithm != "auto") {
    throw std::invalid_argument("collective algorithm '" + collective.algorithm + "' is not modelled: use auto");
  }
  const Bytes bytes = priced_bytes(collective);
  const auto key = std::make_tuple(process, collective.group, collective.kind, bytes);
  if (const auto known = by_class_.find(key); known != by_class_.end()) return known->second;
  TransferPrice found;
  const Layouts& all = layouts(collective.group, process);
  const GroupLayout* slowest = &*all.begin();
  for (const GroupLayout& layout : all) {
    const CollectiveEstimate estimate = on(collective.kind, bytes, layout);
    if (estimate.time < found.time) continue;
    found.time = estimate.time;
    found.algorithm = estimate.algorithm;
    slowest = &layout;
  }
  found.load =
      hw_models::collective_load(operation_of(collective.kind), bytes, *slowest, cluster_.spec(), pool_of(process));
  return by_class_.emplace(key, found).first->second;
}

/// All ranks of a class sit on GPUs of one pool (price_program).
int CollectivePrices::pool_of(std::uint32_t process) const {
  const Rank rank = classes_.all[process].representative;
  return rank.value < 0 ? 0 : cluster_.pool_of(placement_.gpu[static_cast<std::size_t>(rank.value)]);
}

CollectiveEstimate CollectivePrices::on(Kind kind, Bytes bytes, const GroupLayout& layout) {
  const auto key = std::make_tuple(kind, bytes, layout);
  if (const auto known = by_layout_.find(key); known != by_layout_.end()) return known->second;
  return by_layout_.emplace(key, network_.collective(operation_of(kind), bytes, layout)).first->second;
}

const CollectivePrices::Layouts& CollectivePrices::layouts(GroupId group, std::uint32_t process) {
  auto family = families_.find(group);
  if (family == families_.end()) family = families_.emplace(group, layouts_by_class(group)).first;
  const Layouts& found = family->second[process];
  if (!found.empty()) return found;
  throw std::invalid_argument("role '" + program_.roles[classes_.all[process].role].name + "' is in no group of '" +
                              program_.groups[group.value].name + "'");
}

std::vector<CollectivePrices::Layouts> CollectivePrices::layouts_by_class(GroupId group) const {
  const auto groups = strategies::placed_groups(program_, group, placement_);
  const auto layouts = network_.layouts(groups);
  std::vector<Layouts> by_class(classes_.size());
  std::vector<std::size_t> last_seen(classes_.size(), groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const int gpu : groups[g]) {
      const auto rank = static_cast<std::size_t>(rank_of_gpu_[static_cast<std::size_t>(gpu)]);
      const std::uint32_t process = classes_.of_rank[rank];
      if (std::exchange(last_seen[process], g) != g) by_class[process].insert(layouts[g]);
    }
  }
  return by_class;
}

SendPrices::SendPrices(const strategies::Program& program, const RankClasses& classes,
                       const hw_models::Cluster& cluster, const strategies::Placement& placement,
                       const hw_models::Network& network)
    : program_(program), classes_(classes), cluster_(cluster), placement_(placement), network_(network) {
  ranks_of_role_.resize(program.roles.size());
  for (int rank = 0; rank < program.ranks(); ++rank) {
    ranks_of_role_[program.role_of_rank[static_cast<std::size_t>(rank)]].push_back(Rank{rank});
  }
}

TransferPrice SendPrices::of(const strategies::Send& send, std::uint32_t process) {
  TransferPrice found;
  for (const Path& path : paths(process, send.virtual_stage)) {
    const Seconds time = network_.send(send.bytes, path.from, path.to, path.sharers, path.share);
    if (time < found.time) continue;
    found = {time, "", hw_models::send_load(send.bytes, cluster_, path.from, path.to, path.sharers)};
  }
  return found;
}

const std::vector<SendPrices::Path>& SendPrices::paths(std::uint32_t process, int virtual_stage) {
  const std::uint32_t role = classes_.all[process].role;
  const auto key = std::make_pair(role, virtual_stage);
  auto known = paths_.find(key);
  if (known == paths_.end()) known = paths_.emplace(key, find_paths(role, virtual_stage)).first;
  return known->second[process];
}

SendPrices::Paths SendPrices::find_paths(std::uint32_t role, int virtual_stage) const {
  const auto gpu_of = [&](Rank rank) { return placement_.gpu[static_cast<std::size_t>(rank.value)]; };
  std::vector<Path> all;
  std::map<int, int> out_of_nic, into_nic;
  for (const Rank rank : ranks_of_role_[role]) {
    const Path path{.from = gpu_of(rank), .to = gpu_of(program_.peer(rank, virtual_stage))};
    if (cluster_.leaves_domain(path.from, path.to)) {
      ++out_of_nic[cluster_.nic_of(path.from)];
      ++into_nic[cluster_.nic_of(path.to)];
    }
    all.push_back(path);
  }
  std::vector<hw_models::Message> messages;
  for (const Path& path : all) messages.push_back({path.from, path.to});
  const std::vector<hw_models::FlowShare> shares = network_.shares(messages);
  std::map<std::pair<std::uint32_t, Likeness>, Path> distinct;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Path& path = all[i];
    path.share = shares[i];
    if (cluster_.leaves_domain(path.from, path.to)) {
      path.sharers = sharers(path, out_of_nic[cluster_.nic_of(path.from)], into_nic[cluster_.nic_of(path.to)]);
    }
    const Rank rank = ranks_of_role_[role][i];
    distinct.emplace(std::pair(classes_.of_rank[static_cast<std::size_t>(rank.value)], likeness(path)), path);
  }
  Paths found(classes_.size());
  for (const auto& [of, path] : distinct) found[of.first].push_back(path);
  return found;
}

hw_models::NicSharers SendPrices::sharers(const Path& path, int out, int in) const {
  const auto rate = [&](int gpu) { return cluster_.node_spec(gpu).nic_bandwidth; };
  if (rate(path.from) != rate(path.to)) return {out, in};
  return {std::max(out, in), std::max(out, in)};
}

SendPrices::Likeness SendPrices::likeness(const Path& path) const {
  const int from_node = cluster_.node_of(path.from), to_node = cluster_.node_of(path.to);
  const NicSet from_nics = cluster_.nics_of(path.from), to_nics = cluster_.nics_of(path.to);
  const auto first = [](const NicSet& nics) { return nics.size() > 0 ? nics.first() : -1; };
  return {from_node == to_node,
          cluster_.leaves_domain(path.from, path.to),
          hw_models::fabric_tier(cluster_.spec().fabric, from_node, to_node),
          place(path.from),
          place(path.to),
          first(from_nics),
          first(to_nics),
          from_nics.size(),
          to_nics.size(),
          path.sharers,
          path.share};
}

}  // namespace sim
