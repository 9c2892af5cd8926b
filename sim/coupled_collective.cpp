#include "sim/coupled_collective.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "sim/cluster_links.h"
#include "sim/collective_flows.h"

namespace sim {
namespace {

using hw_models::Bytes;

/// The longest chain of messages that wait for each other.
class HopCount {
 public:
  explicit HopCount(const MessageLanes& lanes)
      : hops_(lanes.lanes().size()), arrivals_(lanes.connections().size()), walk_(lanes, kOneSlot, *this) {}

  int count() {
    walk_.start();
    walk_.expect_end();
    return hops_.empty() ? 0 : *std::ranges::max_element(hops_);
  }

  // What LaneWalk asks of a wire.
  void sent(std::uint32_t connection, std::uint32_t /*index*/, std::uint32_t /*size*/, std::uint32_t lane) {
    arrivals_[connection] = hops_[lane] + 1;
    walk_.arrived(connection);
  }
  void received(std::uint32_t connection, std::uint32_t /*index*/, std::uint32_t lane) {
    hops_[lane] = std::max(hops_[lane], arrivals_[connection]);
  }
  void finished(std::uint32_t /*lane*/) const {}

 private:
  static constexpr std::uint32_t kOneSlot = 1;

  std::vector<int> hops_;      ///< before the lane's next step
  std::vector<int> arrivals_;  ///< of the message in a connection
  LaneWalk<HopCount> walk_;
};

int hops(const hw_models::Cluster& cluster, const GroupCollective& collective) {
  return HopCount(MessageLanes(cluster, {&collective, 1})).count();
}

/// A part of the collective that is cut alike.
GroupCollective part_of(const GroupCollective& whole, int channels, int slices) {
  if (whole.exchange.channels < 1 || whole.exchange.slices < 1) return whole;  // which MessageLanes refuses
  const double share = static_cast<double>(channels) / whole.exchange.channels * slices / whole.exchange.slices;
  GroupCollective part = whole;
  part.exchange.channels = channels;
  part.exchange.slices = slices;
  part.bytes = Bytes(std::llround(static_cast<double>(whole.bytes.value()) * share));
  return part;
}

/// A message of a channel's slice, as its sender or its receiver has it.
struct ChannelStep {
  int member = 0, lane = 0;
  std::uint32_t path = 0;
  bool sends = false;
  bool operator==(const ChannelStep&) const = default;
};

/// The least number of channels after which they do the same again; a divisor of `channels`. `lanes` hold one slice.
int distinct_channels(const MessageLanes& lanes, int channels) {
  std::vector<std::vector<ChannelStep>> by_channel;
  for (const MessageLanes::Lane& lane : lanes.lanes()) {
    const auto channel = static_cast<std::size_t>(lane.channel);
    by_channel.resize(std::max(by_channel.size(), channel + 1));
    for (std::size_t i = lane.first; i < lane.last; ++i) {
      const MessageStep& step = lanes.steps()[i];
      by_channel[channel].push_back({lane.member, lane.lane, lanes.connections()[step.connection].path, step.sends()});
    }
  }
  const auto repeat_after = [&](std::size_t period) {
    return std::equal(by_channel.begin() + static_cast<std::ptrdiff_t>(period), by_channel.end(), by_channel.begin());
  };
  const std::size_t trees = by_channel.size() / static_cast<std::size_t>(channels);  // in a channel of the exchange
  int distinct = 1;
  while (distinct < channels &&
         (channels % distinct != 0 || !repeat_after(trees * static_cast<std::size_t>(distinct)))) {
    ++distinct;
  }
  return distinct;
}

/// Bytes on every used link per byte of the operation, from one slice.
std::vector<LinkUse> link_uses(const MessageLanes& lanes, Bytes whole, std::size_t links) {
  std::vector<double> loads(links);
  for (const MessageStep& step : lanes.steps()) {
    if (!step.sends()) continue;
    for (const LinkUse& use : lanes.path(step.connection).uses) {
      loads[use.link] += static_cast<double>(lanes.size(step.size).value());
    }
  }
  std::vector<LinkUse> result;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads[i] > 0) result.push_back({static_cast<LinkIndex>(i), loads[i] / static_cast<double>(whole.value())});
  }
  return result;
}

/// Of `bytes` through the busiest link.
double busiest_ns(std::span<const LinkUse> uses, std::span<const hw_models::BytesPerSecond> capacities, Bytes bytes) {
  double longest = 0;
  for (const LinkUse& use : uses) longest = std::max(longest, use.factor / capacities[use.link].value());
  return 1e9 * longest * static_cast<double>(bytes.value());
}

/// Runs of the first slices.
class Slices {
 public:
  Slices(const hw_models::Cluster& cluster, const GroupCollective& collective, int distinct, std::uint32_t slots)
      : cluster_(cluster),
        folded_(part_of(collective, distinct, collective.exchange.slices)),
        capacities_(cluster_links(cluster)),
        slots_(slots) {
    for (hw_models::BytesPerSecond& capacity : capacities_) {
      capacity = capacity * distinct / collective.exchange.channels;
    }
  }

  /// T, given the time of the busiest link.
  double time(double busiest) const {
    const int all = folded_.exchange.slices;
    const int once = hops(cluster_, first(1)), twice = all > 1 ? hops(cluster_, first(2)) : once;
    if (all > 2 && twice == 2 * once) {
      const double one = run(1), two = run(2);
      return two + (all - 2) * (two - one);
    }
    const int filling = std::min(all, std::max(2 * static_cast<int>(slots_), once));
    return run(filling) + (all - filling) * busiest / all;
  }

 private:
  GroupCollective first(int slices) const { return part_of(folded_, folded_.exchange.channels, slices); }
  double run(int slices) const {
    const GroupCollective part = first(slices);
    return static_cast<double>(run_collectives(MessageLanes(cluster_, {&part, 1}), capacities_, slots_).end_ns.front());
  }

  const hw_models::Cluster& cluster_;
  const GroupCollective folded_;
  std::vector<hw_models::BytesPerSecond> capacities_;
  const std::uint32_t slots_;
};

}  // namespace

CoupledCollective coupled_collective(const hw_models::Cluster& cluster, const GroupCollective& collective,
                                     std::uint32_t slots) {
  const int channels = collective.exchange.channels;
  const GroupCollective slice = part_of(collective, channels, 1);
  const MessageLanes lanes(cluster, {&slice, 1});
  const std::vector<hw_models::BytesPerSecond> capacities = cluster_links(cluster);
  CoupledCollective result;
  result.bytes = collective.bytes;
  if (slice.bytes.value() > 0) result.uses = link_uses(lanes, slice.bytes, capacities.size());
  const double busiest = busiest_ns(result.uses, capacities, collective.bytes);
  const Slices slices(cluster, collective, distinct_channels(lanes, channels), slots);
  result.latency_ns = std::max<std::int64_t>(0, std::llround(slices.time(busiest) - busiest));
  return result;
}

}  // namespace sim
