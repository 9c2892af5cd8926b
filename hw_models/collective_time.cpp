// Closed-form time of a collective on a GroupLayout. Every candidate (algorithm x protocol) is priced, the fastest
// is taken. Ignored: in-switch reduction (NVLS, SHARP), the pipelining of trees at medium sizes.
#include <algorithm>
#include <bit>
#include <limits>

#include "hw_models/network.h"
#include "hw_models/transfer_protocol.h"

namespace hw_models {
namespace {

constexpr BytesPerSecond kUnlimited{std::numeric_limits<double>::infinity()};

/// Slowest hop of a ring over all ranks: one ring per NIC, so a domain's boundary carries what its NICs carry together.
BytesPerSecond ring_rate(const GroupLayout& layout) {
  const BytesPerSecond inside = layout.ranks_per_domain > 1 ? layout.intra : kUnlimited;
  const BytesPerSecond outside = layout.domains > 1 ? layout.inter : kUnlimited;
  return std::min(inside, outside);
}

Seconds transfer(double bytes, BytesPerSecond rate) { return Seconds(bytes / rate.value()); }

struct Volume {
  double per_byte;  ///< bytes through the slowest hop per byte of the operation
  int rounds;       ///< times the ring goes round
};

Volume ring_volume(Operation operation, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (operation) {
    case Operation::kAllReduce:
      return {2 * others, 2};
    case Operation::kBroadcast:
    case Operation::kReduce:
      return {1, 1};
    case Operation::kReduceScatter:
    case Operation::kAllGather:
    case Operation::kAllToAll:
      break;
  }
  return {others, 1};
}

/// A piece of data goes round the whole ring but for one hop. Where domains hold several ranks, most pieces leave out a
/// hop inside: the last to arrive has crossed between domains as often as there are domains.
int crossings(const GroupLayout& layout) {
  return layout.domains > 1 && layout.ranks > layout.domains ? layout.domains : layout.domains - 1;
}

Seconds ring(Operation operation, double bytes, const GroupLayout& layout, const TransferProtocol& protocol) {
  const Volume volume = ring_volume(operation, layout.ranks);
  const double inter_steps = static_cast<double>(volume.rounds) * crossings(layout);
  const double intra_steps = static_cast<double>(volume.rounds) * (layout.ranks - 1 - crossings(layout));
  return protocol.base + (layout.intra_latency + protocol.intra_extra) * intra_steps +
         (layout.inter_latency + protocol.inter_extra) * inter_steps +
         transfer(bytes * volume.per_byte, ring_rate(layout) * protocol.share);
}

// Double binary tree between domains, a chain inside each: up and down once.
Seconds tree_all_reduce(double bytes, const GroupLayout& layout, const TransferProtocol& protocol) {
  const double levels = std::bit_width(static_cast<unsigned>(layout.domains - 1));  // ceil(log2 domains)
  return protocol.base + (layout.intra_latency + protocol.intra_extra) * (2.0 * (layout.ranks_per_domain - 1)) +
         (layout.inter_latency + protocol.tree_inter_extra) * (2.0 * levels) +
         transfer(2 * bytes, ring_rate(layout) * protocol.tree_share);
}

// Every rank sends bytes / ranks to each peer, first near, then far; near and far bytes move at once.
Seconds all_to_all(double bytes, const GroupLayout& layout, const TransferProtocol& protocol) {
  const int near_peers = layout.ranks_per_domain - 1;
  const int far_peers = layout.domains > 1 ? layout.ranks - layout.ranks / layout.domains : 0;
  const double per_peer = bytes / layout.ranks;
  const Seconds near = near_peers > 0 ? transfer(per_peer * near_peers, layout.intra * protocol.share) : Seconds(0);
  const Seconds far =
      far_peers > 0 ? transfer(per_peer * far_peers, layout.inter_per_rank * protocol.share) : Seconds(0);
  return protocol.base + (layout.intra_latency + protocol.intra_extra) * static_cast<double>(near_peers) +
         (layout.inter_latency + protocol.inter_extra) * static_cast<double>(far_peers) + std::max(near, far);
}

}  // namespace

CollectiveEstimate Network::collective(Operation operation, Bytes bytes, const GroupLayout& layout) const {
  if (layout.ranks < 2 || bytes <= Bytes(0)) return {Seconds(0), "none"};
  const auto& measured = cluster_.spec().node.measured;
  if (measured && layout.nodes == 1) {
    const std::optional<Seconds> time = collective_time(*measured, operation, bytes, layout.ranks);
    if (time) return {*time, "measured"};
  }
  const auto amount = static_cast<double>(bytes.value());
  CollectiveEstimate best{Seconds(std::numeric_limits<double>::infinity()), "none"};
  const auto consider = [&best](Seconds time, const char* algorithm) {
    if (time < best.time) best = {time, algorithm};
  };
  for (const TransferProtocol& protocol : kTransferProtocols) {
    if (operation == Operation::kAllToAll) {
      consider(all_to_all(amount, layout, protocol), "direct");
      continue;
    }
    consider(ring(operation, amount, layout, protocol), "ring");
    if (operation == Operation::kAllReduce && layout.domains > 1) {
      consider(tree_all_reduce(amount, layout, protocol), "tree");
    }
  }
  best.time += layout.lateness;
  return best;
}

}  // namespace hw_models
