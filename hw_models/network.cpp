#include "hw_models/network.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "hw_models/cluster_numbering.h"
#include "hw_models/fabric_shape.h"
#include "hw_models/measured_transfers.h"
#include "hw_models/nccl/estimate.h"
#include "hw_models/payload_rate.h"

namespace hw_models {
namespace {

using Medium = MessagePath::Medium;

bool is_fabric(LinkClass kind) { return kind == LinkClass::kNicPort || kind == LinkClass::kUplink; }

/// What the links inside the nodes allow; the medium tells whether there are others.
MessagePath inside_nodes(const Cluster& cluster, int from_gpu, int to_gpu) {
  MessagePath path{.rate = BytesPerSecond(std::numeric_limits<double>::infinity())};
  for (const LinkId id : cluster.route(from_gpu, to_gpu)) {
    const Link& link = cluster.link(id);
    if (is_fabric(link.kind)) path.medium = Medium::kNetwork;
    if (is_fabric(link.kind)) continue;
    if (link.kind != LinkClass::kScaleUp && path.medium == Medium::kNvlink) path.medium = Medium::kPcie;
    path.latency += link.latency;
    path.rate = std::min(path.rate, payload_rate(link));
  }
  return path;
}

/// The way of a message between NICs. Where the rails differ, GPUs with NVLink or its like hand the message to the
/// neighbour that sits on the receiver's rail first (NCCL: PXN), so that it stays under one leaf.
struct FabricWay {
  NicSet from, to;  ///< of the GPUs themselves
  bool hands_over = false;
  int tier = kLeafTier;
  int nics() const { return std::min(from.size(), to.size()); }
};

FabricWay fabric_way(const Cluster& cluster, int from_gpu, int to_gpu) {
  const NodeSpec& node = cluster.node_spec(from_gpu);
  const FabricSpec& fabric = cluster.spec().fabric;
  FabricWay way{cluster.nics_of(from_gpu), cluster.nics_of(to_gpu)};
  const bool other_rail = fabric.kind == FabricKind::kRailOptimized && way.from.first() != way.to.first();
  const bool any_neighbour = node.scale_up == ScaleUpKind::kSwitch || node.scale_up == ScaleUpKind::kMesh;
  way.hands_over = other_rail && any_neighbour && way.to[way.nics() - 1] < node.nics;
  way.tier = fabric_tier(fabric, cluster.node_of(from_gpu), cluster.node_of(to_gpu));
  if (other_rail && !way.hands_over) way.tier = std::max(way.tier, kSpineTier);
  return way;
}

/// One for every NIC that the message is cut over; none where it needs no NIC.
std::vector<FabricFlow> flows(const Cluster& cluster, const Message& message) {
  if (!cluster.leaves_domain(message.from_gpu, message.to_gpu)) return {};
  const FabricWay way = fabric_way(cluster, message.from_gpu, message.to_gpu);
  const int nics = cluster.nic_stride();
  std::vector<FabricFlow> result;
  for (int i = 0; i < way.nics(); ++i) {
    const int from = way.hands_over ? way.to[i] : way.from[i];
    result.push_back({cluster.node_of(message.from_gpu) * nics + from,
                      cluster.node_of(message.to_gpu) * nics + way.to[i], message.from_gpu});
  }
  return result;
}

/// The ends of a message, whose nodes may be of different kinds.
struct Ends {
  const NodeSpec& from;
  const NodeSpec& to;
};

/// The fabric's part: the slower of what the NICs of either end give.
void add_fabric(const FabricSpec& fabric, const Ends& ends, const FabricWay& way, const NicSharers& sharers,
                const FlowShare& share, MessagePath& path) {
  if (way.hands_over) path.latency += ends.from.scale_up_latency;
  path.latency += fabric.endpoint_latency + fabric.switch_latency * switches_crossed(way.tier);
  const auto rate = [&](const NodeSpec& node, int messages, int nics) {
    const double nic =
        node.nic_bandwidth.value() * fabric.efficiency * share.factor / messages / taper(fabric, way.tier);
    return std::min(BytesPerSecond(nic), share.most) * nics;
  };
  path.rate =
      std::min({path.rate, rate(ends.from, sharers.out, way.from.size()), rate(ends.to, sharers.in, way.to.size())});
}

/// What NCCL knows where these members' nodes differ.
NcclSystem system_of(const ClusterSpec& cluster, const GroupLayout& layout) {
  if (layout.pools.empty()) return nccl_system(cluster);
  const auto of = [&](const PoolShare& share) {
    return nccl_system(cluster.node_of_pool(static_cast<std::size_t>(share.pool)), cluster.fabric);
  };
  NcclSystem system = of(layout.pools.front());
  for (const PoolShare& share : layout.pools) system = joint(system, of(share));
  return system;
}

}  // namespace

Network::Network(const Cluster& cluster, const NcclChoice& choice) : cluster_(cluster), choice_(choice) {}

CollectiveEstimate Network::collective(Operation operation, Bytes bytes, const GroupLayout& layout) const {
  const auto pool = layout.pools.empty() ? 0 : static_cast<std::size_t>(layout.pools.front().pool);
  const auto& measured = cluster_.spec().node_of_pool(pool).measured;
  if (measured && layout.nodes == 1 && layout.ranks > 1) {
    const bool neighbours = operation == Operation::kSendReceive && !measured->send.empty() && bytes > Bytes(0);
    if (neighbours) return {transfer_time(measured->send, bytes), "measured"};
    const std::optional<Seconds> time = collective_time(*measured, operation, bytes, layout.ranks);
    if (time) return {*time, "measured"};
  }
  const NcclSystem system = system_of(cluster_.spec(), layout);
  const NcclEstimate estimate = nccl_estimate(operation, bytes, {system, layout}, choice_);
  return {estimate.time, name(estimate.algorithm)};
}

std::vector<FlowShare> Network::shares(std::span<const Message> messages) const {
  std::vector<FlowShare> result(messages.size());
  if (FabricFlows::plain(cluster_.spec())) return result;
  FabricFlows fabric(cluster_.spec());
  for (const Message& message : messages) {
    for (const FabricFlow& flow : flows(cluster_, message)) fabric.add(flow);
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const FabricFlow& flow : flows(cluster_, messages[i])) result[i].add(fabric.share(flow));
  }
  return result;
}

Seconds Network::send(Bytes bytes, int from_gpu, int to_gpu, int sharers) const {
  const Message alone{from_gpu, to_gpu};
  return send(bytes, from_gpu, to_gpu, {sharers, sharers}, shares({&alone, 1}).front());
}

Seconds Network::send(Bytes bytes, int from_gpu, int to_gpu, const NicSharers& sharers, const FlowShare& share) const {
  if (sharers.out < 1 || sharers.in < 1) {
    throw std::invalid_argument("sharers: a message shares its NIC with itself at least");
  }
  if (from_gpu == to_gpu) return Seconds(0);
  const Ends ends{cluster_.node_spec(from_gpu), cluster_.node_spec(to_gpu)};
  const auto& measured = ends.from.measured;
  if (measured && !measured->send.empty() && cluster_.node_of(from_gpu) == cluster_.node_of(to_gpu)) {
    return transfer_time(measured->send, bytes);
  }
  const FabricSpec& fabric = cluster_.spec().fabric;
  MessagePath path = inside_nodes(cluster_, from_gpu, to_gpu);
  if (path.medium == Medium::kNetwork) {
    add_fabric(fabric, ends, fabric_way(cluster_, from_gpu, to_gpu), sharers, share, path);
  }
  return nccl_message(bytes, path, joint(nccl_system(ends.from, fabric), nccl_system(ends.to, fabric))).time;
}

}  // namespace hw_models
