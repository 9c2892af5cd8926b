#include "hw_models/pair_links.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace hw_models {
namespace {

/// Symmetric; by position in the list of members.
using Capacities = std::vector<std::vector<double>>;
using Subset = std::uint32_t;

Subset only(std::size_t member) { return Subset{1} << member; }

/// Neighbours of every member over links of at least `width`.
std::vector<Subset> neighbours(const Capacities& left, double width) {
  std::vector<Subset> near(left.size(), 0);
  for (std::size_t a = 0; a < left.size(); ++a) {
    for (std::size_t b = 0; b < left.size(); ++b) {
      if (left[a][b] >= width) near[a] |= only(b);
    }
  }
  return near;
}

/// A cycle through all members, from member 0; empty: there is none. Held and Karp's table: ends[s] = the members at
/// which a path from 0 through exactly the members of s can end.
std::vector<std::size_t> cycle(const std::vector<Subset>& near) {
  const std::size_t count = near.size();
  const Subset all = static_cast<Subset>((std::uint64_t{1} << count) - 1);
  std::vector<Subset> ends(std::size_t{all} + 1, 0);
  ends[1] = 1;
  for (Subset path = 1; path <= all; path += 2) {  // every path holds member 0
    for (std::size_t next = 1; next < count; ++next) {
      if ((path & only(next)) == 0 && (ends[path] & near[next]) != 0) ends[path | only(next)] |= only(next);
    }
  }
  Subset last = ends[all] & near[0];
  if (last == 0) return {};
  std::vector<std::size_t> members;
  Subset path = all;
  while (path != 1) {
    const auto member = static_cast<std::size_t>(std::countr_zero(last));
    members.push_back(member);
    path &= ~only(member);
    last = ends[path] & near[member];
  }
  members.push_back(0);
  return members;
}

/// The rates that occur, widest first.
std::vector<double> widths(const Capacities& left) {
  std::vector<double> found;
  for (const std::vector<double>& row : left) found.insert(found.end(), row.begin(), row.end());
  std::sort(found.rbegin(), found.rend());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  while (!found.empty() && found.back() <= 0) found.pop_back();
  return found;
}

/// Takes the widest cycle out of `left` and returns its width; 0: none is left.
double take_widest_cycle(Capacities& left) {
  for (const double width : widths(left)) {
    const std::vector<std::size_t> members = cycle(neighbours(left, width));
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::size_t a = members[i], b = members[(i + 1) % members.size()];
      left[a][b] -= width;
      left[b][a] = left[a][b];
    }
    if (!members.empty()) return width;
  }
  return 0;
}

}  // namespace

const PairLink* link_between(const NodeSpec& node, int a, int b) {
  const auto found = std::find_if(node.links.begin(), node.links.end(), [&](const PairLink& link) {
    return (link.a == a && link.b == b) || (link.a == b && link.b == a);
  });
  return found == node.links.end() ? nullptr : &*found;
}

int relay_between(const NodeSpec& node, int a, int b) {
  int best = -1;
  BytesPerSecond widest{};
  for (int relay = 0; relay < node.gpus && !node.links.empty(); ++relay) {
    const PairLink* in = link_between(node, a, relay);
    const PairLink* out = link_between(node, relay, b);
    if (in == nullptr || out == nullptr || std::min(in->bandwidth, out->bandwidth) <= widest) continue;
    best = relay;
    widest = std::min(in->bandwidth, out->bandwidth);
  }
  return best;
}

BytesPerSecond linked_ring_bandwidth(const NodeSpec& node, std::span<const int> members) {
  const auto capacity = [&](int a, int b) {
    const PairLink* link = link_between(node, a, b);
    return link == nullptr ? 0 : link->bandwidth.value();
  };
  if (members.size() < 2) return BytesPerSecond(0);
  if (members.size() == 2) return BytesPerSecond(capacity(members[0], members[1]));
  Capacities left(members.size(), std::vector<double>(members.size(), 0));
  for (std::size_t a = 0; a < members.size(); ++a) {
    for (std::size_t b = 0; b < members.size(); ++b) left[a][b] = a == b ? 0 : capacity(members[a], members[b]);
  }
  double sum = 0;
  for (double width = take_widest_cycle(left); width > 0; width = take_widest_cycle(left)) sum += width;
  return BytesPerSecond(2 * sum);
}

}  // namespace hw_models
