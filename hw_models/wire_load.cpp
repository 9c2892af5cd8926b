#include "hw_models/wire_load.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hw_models/cluster_numbering.h"
#include "hw_models/nccl/group.h"
#include "hw_models/payload_rate.h"

namespace hw_models {
namespace {

/// Channels per NIC of a communicator between nodes, one block of threads and so one multiprocessor each: NCCL's logs
/// of 8 GPUs with 8 NICs say 16 channels (NVIDIA/nccl issue 1453), with one NIC 2 (NVIDIA/nccl-tests issue 133).
/// Confidence: medium; NCCL takes fewer for small sizes.
constexpr int kChannelsPerNic = 2;

/// Passes over memory per byte that leaves a port while one arrives, counted on NCCL's Simple protocol. NVLink: the
/// neighbour writes it into the receive buffer, the kernel reads it and its own operand; the result is written across
/// the link or to the output. NIC: the same three, and the NIC reads the send buffer and writes the receive buffer.
/// Confidence: medium, a count of accesses, not a measurement; caches may save some.
constexpr double kScaleUpPasses = 3;
constexpr double kNicPasses = 5;

double ring_volume(Operation operation, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (operation == Operation::kAllReduce) return 2 * others;
  return operation == Operation::kBroadcast || operation == Operation::kReduce ? 1 : others;
}

/// Bytes that leave one GPU towards its own domain and towards the NICs; the same arrive.
struct OwnBytes {
  double inside = 0, outside = 0;
};

OwnBytes own_bytes(Operation operation, double bytes, const GroupLayout& layout) {
  const double members = layout.ranks_per_domain;
  if (operation == Operation::kAllToAll) {
    const double far_peers = layout.domains > 1 ? layout.ranks - static_cast<double>(layout.ranks) / layout.domains : 0;
    return {bytes / layout.ranks * (members - 1), bytes / layout.ranks * far_peers};
  }
  if (operation == Operation::kSendReceive) {  // the busier of two: one neighbour is far, the other one's near
    return {members > 1 ? bytes : 0, layout.domains > 1 ? bytes : 0};
  }
  const double volume = bytes * ring_volume(operation, layout.ranks);
  if (layout.domains < 2) return {volume, 0};
  return {volume * (members - 1) / members, volume / members};
}

/// The group's rates where the GPUs of one pool are.
PoolShare share_of(const GroupLayout& layout, int pool) {
  for (const PoolShare& share : layout.pools) {
    if (share.pool == pool) return share;
  }
  return {pool, layout.intra, layout.inter, layout.inter_per_rank};
}

/// Of the kernels: all members agree on the fewest.
int most_channels(const GroupLayout& layout, const ClusterSpec& cluster) {
  if (layout.pools.empty()) return facts(nccl_generation(cluster.node)).channels;
  int fewest = std::numeric_limits<int>::max();
  for (const PoolShare& share : layout.pools) {
    const NodeSpec& node = cluster.node_of_pool(static_cast<std::size_t>(share.pool));
    fewest = std::min(fewest, facts(nccl_generation(node)).channels);
  }
  return fewest;
}

/// What its NICs give one member: its own share for messages, or its part of the group's.
double nic_rate(Operation operation, const PoolShare& share, int ranks_per_domain) {
  const bool messages = operation == Operation::kAllToAll || operation == Operation::kSendReceive;
  return messages ? share.inter_per_rank.value() : share.inter.value() / ranks_per_domain;
}

/// Bridges that join two GPUs only are used by pairs; what is slower than a slot went by PCIe.
bool inside_is_pcie(const NodeSpec& node, BytesPerSecond intra) {
  if (node.scale_up == ScaleUpKind::kNone) return true;
  return node.scale_up == ScaleUpKind::kPairs && intra <= node.pcie_bandwidth;
}

int nics_of(BytesPerSecond inter, const NodeSpec& node, const FabricSpec& fabric) {
  const double one = node.nic_bandwidth.value() * fabric.efficiency;
  return one > 0 ? std::max(1, static_cast<int>(std::lround(inter.value() / one))) : 1;
}

void add_both(WireLoad& load, Port out, Port in, Seconds busy) {
  load.at(out) += busy;
  load.at(in) += busy;
}

}  // namespace

WireLoad collective_load(Operation operation, Bytes bytes, const GroupLayout& layout, const ClusterSpec& cluster,
                         int pool) {
  WireLoad load;
  if (layout.ranks < 2 || bytes <= Bytes(0)) return load;
  const NodeSpec& node = cluster.node_of_pool(static_cast<std::size_t>(pool));
  const PoolShare share = share_of(layout, pool);
  const OwnBytes own = own_bytes(operation, static_cast<double>(bytes.value()), layout);
  if (own.inside > 0) {
    const Seconds busy(own.inside / share.intra.value());
    const bool pcie = inside_is_pcie(node, share.intra);
    add_both(load, pcie ? Port::kPcieOut : Port::kScaleUpOut, pcie ? Port::kPcieIn : Port::kScaleUpIn, busy);
  }
  if (own.outside > 0) {
    add_both(load, Port::kNicOut, Port::kNicIn,
             Seconds(own.outside / nic_rate(operation, share, layout.ranks_per_domain)));
    add_both(load, Port::kPcieOut, Port::kPcieIn, Seconds(own.outside / node.pcie_bandwidth.value()));
  }
  load.memory_bytes = kScaleUpPasses * own.inside + kNicPasses * own.outside;
  const int most = most_channels(layout, cluster);
  load.channels =
      layout.domains < 2 ? most : std::min(most, kChannelsPerNic * nics_of(share.inter, node, cluster.fabric));
  return load;
}

WireLoad send_load(Bytes bytes, const Cluster& cluster, int from_gpu, int to_gpu, const NicSharers& sharers) {
  WireLoad load;
  if (from_gpu == to_gpu || bytes <= Bytes(0)) return load;
  const NodeSpec& node = cluster.node_spec(from_gpu);
  const auto amount = static_cast<double>(bytes.value());
  double passes = kScaleUpPasses;
  int channels = facts(nccl_generation(node)).channels;
  for (const LinkId id : cluster.route(from_gpu, to_gpu)) {
    const Link& link = cluster.link(id);
    if (link.kind == LinkClass::kScaleUp || link.kind == LinkClass::kPcie) {
      Seconds& busy = load.at(link.kind == LinkClass::kScaleUp ? Port::kScaleUpOut : Port::kPcieOut);
      busy = std::max(busy, Seconds(amount / payload_rate(link).value()));
    } else if (link.kind == LinkClass::kNicPort) {
      const int nics = std::min(cluster.nics_of(from_gpu).size(), cluster.nics_of(to_gpu).size());
      const double efficiency = cluster.spec().fabric.efficiency;
      const double out = node.nic_bandwidth.value() * efficiency * nics / sharers.out;
      const double in = cluster.node_spec(to_gpu).nic_bandwidth.value() * efficiency * nics / sharers.in;
      load.at(Port::kNicOut) = Seconds(amount / std::min(out, in));
      passes = kNicPasses;
      channels = std::min(channels, kChannelsPerNic * nics);
    }
  }
  load.memory_bytes = passes * amount / 2;  // a message only leaves here; what arrives is counted where it does
  load.channels = channels;
  return load;
}

}  // namespace hw_models
