#include "hw_models/network.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "hw_models/cluster_numbering.h"
#include "hw_models/measured_transfers.h"
#include "hw_models/transfer_protocol.h"

namespace hw_models {
namespace {

/// The way of one message: t = base + latency + extra + bytes / (rate x share).
struct Path {
  Seconds latency{};
  double rate = std::numeric_limits<double>::infinity();
  bool leaves_node = false;
};

Seconds message_time(Bytes bytes, const Path& path) {
  Seconds best(std::numeric_limits<double>::infinity());
  for (const TransferProtocol& protocol : kTransferProtocols) {
    const Seconds extra = path.leaves_node ? protocol.inter_extra : protocol.intra_extra;
    best = std::min(best, protocol.base + path.latency + extra + bytes / BytesPerSecond(path.rate * protocol.share));
  }
  return best;
}

bool is_fabric(LinkClass kind) { return kind == LinkClass::kNicPort || kind == LinkClass::kUplink; }

/// What the links inside the nodes allow; `leaves_node` tells whether there are others.
Path inside_nodes(const Cluster& cluster, int from_gpu, int to_gpu) {
  Path path;
  for (const LinkId id : cluster.route(from_gpu, to_gpu)) {
    const Link& link = cluster.link(id);
    path.leaves_node = path.leaves_node || is_fabric(link.kind);
    if (is_fabric(link.kind)) continue;
    path.latency += link.latency;
    path.rate = std::min(path.rate, payload_rate(link).value());
  }
  return path;
}

/// The fabric's part. Where the rails differ, GPUs with NVLink or its like hand the message to the neighbour that sits
/// on the receiver's rail first (NCCL: PXN), so that it stays under one leaf.
void add_fabric(const Cluster& cluster, int from_gpu, int to_gpu, int sharers, Path& path) {
  const NodeSpec& node = cluster.spec().node;
  const FabricSpec& fabric = cluster.spec().fabric;
  const NicSet from = nics_of_local_gpu(node, from_gpu % node.gpus);
  const NicSet to = nics_of_local_gpu(node, to_gpu % node.gpus);
  const bool other_rail = fabric.kind == FabricKind::kRailOptimized && from.first() != to.first();
  const bool hands_over = other_rail && (node.scale_up == ScaleUpKind::kSwitch || node.scale_up == ScaleUpKind::kMesh);
  const bool other_unit =
      cluster.node_of(from_gpu) / fabric.nodes_per_unit != cluster.node_of(to_gpu) / fabric.nodes_per_unit;
  const bool crosses = other_unit || (other_rail && !hands_over);
  if (hands_over) path.latency += node.scale_up_latency;
  path.latency += fabric.endpoint_latency + fabric.switch_latency * (crosses ? 3.0 : 1.0);
  const double nics = node.nic_bandwidth.value() * fabric.efficiency * std::min(from.size(), to.size());
  path.rate = std::min(path.rate, nics / sharers / (crosses ? fabric.oversubscription : 1));
}

}  // namespace

Network::Network(const Cluster& cluster) : cluster_(cluster) {}

Seconds Network::send(Bytes bytes, int from_gpu, int to_gpu, int sharers) const {
  if (sharers < 1) throw std::invalid_argument("sharers: a message shares its NIC with itself at least");
  if (from_gpu == to_gpu || bytes <= Bytes(0)) return Seconds(0);
  const auto& measured = cluster_.spec().node.measured;
  if (measured && !measured->send.empty() && cluster_.node_of(from_gpu) == cluster_.node_of(to_gpu)) {
    return transfer_time(measured->send, bytes);
  }
  Path path = inside_nodes(cluster_, from_gpu, to_gpu);
  if (path.leaves_node) add_fabric(cluster_, from_gpu, to_gpu, sharers, path);
  return message_time(bytes, path);
}

}  // namespace hw_models
