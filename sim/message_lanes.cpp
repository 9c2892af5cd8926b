#include "sim/message_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <stdexcept>
#include <utility>

namespace sim {
namespace {

using hw_models::Bytes;
using hw_models::Cluster;
using strategies::Ends;
using strategies::GroupDomains;
using strategies::Slice;
using strategies::Step;
using strategies::StepKind;

Bytes message_bytes(Bytes whole, const Slice& slice) {
  const std::int64_t parts = slice.parts, blocks = std::int64_t{slice.end - slice.begin} * slice.count;
  // S = q parts + r, so that no product exceeds S or the square of parts.
  const std::int64_t rest = whole.value() % parts * blocks;
  return Bytes(whole.value() / parts * blocks + (rest + parts - 1) / parts);
}

void check(const Cluster& cluster, const GroupCollective& collective, const GroupDomains& domains) {
  std::vector<int> gpus = collective.gpus;
  std::ranges::sort(gpus);
  if (std::ranges::adjacent_find(gpus) != gpus.end()) throw std::invalid_argument("a GPU is in a group twice");
  if (collective.bytes.value() < 0) throw std::invalid_argument("a collective has bytes < 0");
  if (collective.algorithm == nullptr) throw std::invalid_argument("a collective needs an algorithm");
  const bool switches = std::ranges::all_of(
      gpus, [&](int gpu) { return cluster.node_spec(gpu).scale_up == hw_models::ScaleUpKind::kSwitch; });
  const std::string reason = refusal(*collective.algorithm, collective.exchange, domains, {switches, true});
  if (!reason.empty()) throw std::invalid_argument(reason);
}

}  // namespace

GroupDomains group_domains(const Cluster& cluster, std::span<const int> gpus) {
  std::vector<int> labels;
  for (const int gpu : gpus) {
    if (gpu < 0 || gpu >= cluster.gpus()) throw std::invalid_argument(fmt::format("no GPU {} in the cluster", gpu));
    labels.push_back(cluster.domain_of(gpu));
  }
  return GroupDomains(labels);
}

/// Packs the members of one collective, one after the other.
class MessageLanes::Packer {
 public:
  Packer(MessageLanes& lanes, const Cluster& cluster, const GroupCollective& collective, const GroupDomains& domains)
      : to_(lanes), cluster_(cluster), collective_(collective), domains_(domains) {}

  void pack(int member) {
    const std::vector<Step> steps = collective_.algorithm->steps(collective_.exchange, domains_, member);
    make_lanes(steps, member);
    std::map<Ends, std::uint32_t> known;  // of this member: few, where the group may have thousands
    for (const Step& step : steps) {
      if (step.kind == StepKind::kCopy) continue;
      const bool sends = step.kind == StepKind::kSend;
      const Ends ends = strategies::ends_of(step, member);
      auto found = known.find(ends);
      if (found == known.end()) found = known.emplace(ends, connection(ends)).first;
      const std::uint32_t lane = lane_of_.at({step.channel, step.lane});
      attach(to_.connections_[found->second], sends, lane);
      const std::uint32_t size =
          sends ? size_index(message_bytes(collective_.bytes, step.slice)) : MessageStep::kReceives;
      to_.steps_[to_.lanes_[lane].last++] = {found->second, size};
    }
  }

 private:
  /// Lanes of the member, in the order of their first steps, with room for these.
  void make_lanes(const std::vector<Step>& steps, int member) {
    const std::size_t begin = to_.lanes_.size();
    const auto collective = static_cast<std::uint32_t>(to_.domains_.size() - 1);
    lane_of_.clear();
    for (const Step& step : steps) {
      if (step.kind == StepKind::kCopy) continue;
      if (step.peer < 0 || step.peer >= domains_.members()) throw std::invalid_argument("a step has no peer");
      const auto next = static_cast<std::uint32_t>(to_.lanes_.size());
      const auto [found, fresh] = lane_of_.try_emplace({step.channel, step.lane}, next);
      if (fresh) to_.lanes_.push_back({0, 0, collective, member, step.channel, step.lane});
      ++to_.lanes_[found->second].last;
    }
    std::size_t next = to_.steps_.size();
    for (std::size_t i = begin; i < to_.lanes_.size(); ++i) {
      const std::size_t count = to_.lanes_[i].last;
      to_.lanes_[i].first = to_.lanes_[i].last = next;  // `last` grows while steps are written
      next += count;
    }
    to_.steps_.resize(next);
  }

  std::uint32_t connection(const Ends& ends) {
    const auto next = static_cast<std::uint32_t>(to_.connections_.size());
    const auto [found, fresh] = connections_.try_emplace(ends, next);
    if (fresh) to_.connections_.push_back({path_index(ends.from, ends.to)});
    return found->second;
  }

  void attach(Connection& connection, bool sends, std::uint32_t lane) const {
    std::uint32_t& end = sends ? connection.sender : connection.receiver;
    if (end == Connection::kNoLane) end = lane;
    if (end == lane) return;
    throw std::invalid_argument(to_.name(to_.lanes_[lane]) + " shares a connection with another lane");
  }

  std::uint32_t path_index(int from, int to) {
    const auto next = static_cast<std::uint32_t>(to_.paths_.size());
    const auto [found, fresh] = paths_.try_emplace({from, to}, next);
    if (fresh) to_.paths_.push_back(path(from, to));
    return found->second;
  }

  LinkPath path(int from, int to) const {
    if (!domains_.is_rank(from) && !domains_.is_rank(to)) throw std::invalid_argument("switches exchange messages");
    if (!domains_.is_rank(from)) return reversed(path(to, from));
    const int gpu = collective_.gpus[static_cast<std::size_t>(from)];
    if (domains_.is_rank(to)) return path_between(cluster_, gpu, collective_.gpus[static_cast<std::size_t>(to)]);
    const bool far = to == domains_.network();
    const int other = other_gpu(from, far);
    return far ? path_to_fabric(cluster_, gpu, other) : path_to_switch(cluster_, gpu, other);
  }

  /// Of another rank in the same domain, or in another one.
  int other_gpu(int rank, bool far) const {
    for (int other = 0; other < domains_.ranks(); ++other) {
      const bool other_domain = domains_.domain(other) != domains_.domain(rank);
      if (other != rank && other_domain == far) return collective_.gpus[static_cast<std::size_t>(other)];
    }
    throw std::invalid_argument("a rank alone has no switch and no network to talk to");
  }

  std::uint32_t size_index(Bytes size) {
    // An algorithm has few sizes, and long runs of one.
    auto found = std::ranges::find(to_.sizes_, size);
    if (found == to_.sizes_.end()) found = to_.sizes_.insert(to_.sizes_.end(), size);
    return static_cast<std::uint32_t>(found - to_.sizes_.begin());
  }

  MessageLanes& to_;
  const Cluster& cluster_;
  const GroupCollective& collective_;
  const GroupDomains& domains_;
  std::map<std::pair<int, int>, std::uint32_t> lane_of_;  ///< (channel, lane) of the member in hand
  std::map<Ends, std::uint32_t> connections_;
  std::map<std::pair<int, int>, std::uint32_t> paths_;
};

MessageLanes::MessageLanes(const Cluster& cluster, std::span<const GroupCollective> collectives) {
  for (const GroupCollective& collective : collectives) {
    domains_.push_back(group_domains(cluster, collective.gpus));
    const GroupDomains domains = domains_.back();
    check(cluster, collective, domains);
    Packer packer(*this, cluster, collective, domains);
    for (int member = 0; member < domains.members(); ++member) packer.pack(member);
  }
  steps_.shrink_to_fit();
}

std::string MessageLanes::name(const Lane& lane) const {
  return fmt::format("collective {}, {}, channel {}, lane {}", lane.collective,
                     strategies::member_name(domains_[lane.collective], lane.member), lane.channel, lane.lane);
}

}  // namespace sim
