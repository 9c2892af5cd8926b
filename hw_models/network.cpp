#include "hw_models/network.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "hw_models/cluster_numbering.h"
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

/// The fabric's part. Where the rails differ, GPUs with NVLink or its like hand the message to the neighbour that sits
/// on the receiver's rail first (NCCL: PXN), so that it stays under one leaf.
void add_fabric(const Cluster& cluster, int from_gpu, int to_gpu, int sharers, MessagePath& path) {
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
  path.rate = std::min(path.rate, BytesPerSecond(nics / sharers / (crosses ? fabric.oversubscription : 1)));
}

}  // namespace

Network::Network(const Cluster& cluster, const NcclChoice& choice) : cluster_(cluster), choice_(choice) {}

CollectiveEstimate Network::collective(Operation operation, Bytes bytes, const GroupLayout& layout) const {
  const auto& measured = cluster_.spec().node.measured;
  if (measured && layout.nodes == 1 && layout.ranks > 1) {
    const std::optional<Seconds> time = collective_time(*measured, operation, bytes, layout.ranks);
    if (time) return {*time, "measured"};
  }
  const NcclSystem system = nccl_system(cluster_.spec());
  const NcclEstimate estimate = nccl_estimate(operation, bytes, {system, layout}, choice_);
  return {estimate.time, name(estimate.algorithm)};
}

Seconds Network::send(Bytes bytes, int from_gpu, int to_gpu, int sharers) const {
  if (sharers < 1) throw std::invalid_argument("sharers: a message shares its NIC with itself at least");
  if (from_gpu == to_gpu) return Seconds(0);
  const auto& measured = cluster_.spec().node.measured;
  if (measured && !measured->send.empty() && cluster_.node_of(from_gpu) == cluster_.node_of(to_gpu)) {
    return transfer_time(measured->send, bytes);
  }
  MessagePath path = inside_nodes(cluster_, from_gpu, to_gpu);
  if (path.medium == Medium::kNetwork) add_fabric(cluster_, from_gpu, to_gpu, sharers, path);
  return nccl_message(bytes, path, nccl_system(cluster_.spec())).time;
}

}  // namespace hw_models
