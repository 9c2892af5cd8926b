#include "hw_models/nccl/estimate.h"

#include <algorithm>
#include <cmath>

namespace hw_models {
namespace {

constexpr double kMicro = 1e-6;

// Shared by all systems, chosen once on the sweeps of docs/nccl.md: the part of a step that a rank's own data
// takes, the size at which half of the ramp is paid, the cost of one more connection, the rate of a copy inside a GPU.
constexpr double kLocalPass = 0.5, kRampBytes = 32.0 * (1 << 20), kConnection = 0.3 * kMicro, kLocalCopy = 0.7;
constexpr double kRampSteps = 14, kLowLatencyShare = 0.5;

using Medium = MessagePath::Medium;

bool leaves_domain(const NcclGroup& group) { return group.nodes() > 1; }

Seconds launch(const NcclSystem& system, bool network) {
  return system.node.launch + (network ? system.fabric.launch : Seconds(0));
}

/// Of the pipeline, beside that of an all-reduce over 8 ranks; between domains no deeper than a tree.
double depth(double steps, const NcclGroup& group) {
  const double ring = steps / kRampSteps;
  return leaves_domain(group) ? std::min(ring, 1 + std::log2(group.nodes())) : ring;
}

/// The part of a ramp that `bytes` pay.
double filling(double bytes, double depth) { return depth * bytes / (bytes + kRampBytes); }

Seconds ramp(double bytes, double steps, const NcclGroup& group) {
  const Seconds full = leaves_domain(group) ? group.system.fabric.ramp : group.system.node.ramp;
  return full * filling(bytes, depth(steps, group));
}

NcclEstimate corrected(const NcclCost& cost, double bytes, const NcclGroup& group) {
  const NodeCorrection& node = group.system.node;
  NcclEstimate estimate;
  estimate.algorithm = cost.algorithm;
  estimate.protocol = cost.protocol;
  estimate.network_bound = cost.network_bound;
  const double steps = node.step * cost.late_intra + group.system.fabric.step * cost.late_inter;
  const Seconds base = launch(group.system, leaves_domain(group)) + Seconds(kMicro * (cost.base - kLowLatencyBase));
  estimate.latency = std::max(base, Seconds(0)) + Seconds(kMicro * steps);
  double rate = 1e9 * cost.bandwidth * cost.size_factor;
  double passes = 1;
  if (!is_nvls(cost.algorithm)) {
    if (group.system.nvlink) passes = (cost.steps + kLocalPass) / cost.steps;
    if (!cost.network_bound) rate *= node.bandwidth;
  }
  estimate.time = estimate.latency + Seconds(bytes / rate * passes);
  const bool ramps =
      cost.protocol == NcclProtocol::kSimple || (leaves_domain(group) && cost.protocol == NcclProtocol::kLl128);
  if (ramps) estimate.time += ramp(bytes, cost.steps, group);
  return estimate;
}

struct Messages {
  double largest = 0;        ///< bytes of one message
  double near = 0, far = 0;  ///< bytes a rank sends inside its domain and out of it
  double own = 0;            ///< bytes a rank keeps
  double connections = 1;
};

const NcclLatency& ring_latencies() { return kNcclLatencies[static_cast<std::size_t>(NcclAlgorithm::kRing)]; }

NcclProtocol protocol_of(double message) {
  return message <= kMessageLowLatencyBytes ? NcclProtocol::kLl : NcclProtocol::kSimple;
}

double share_of(NcclProtocol protocol) { return protocol == NcclProtocol::kLl ? kLowLatencyShare : 1; }

Seconds base_of(NcclProtocol protocol) {
  return Seconds(kMicro * (ring_latencies().base[static_cast<std::size_t>(protocol)] - kLowLatencyBase));
}

/// The hops and what the protocol adds to them.
Seconds way(NcclProtocol protocol, Seconds hops, Medium medium, const NcclSystem& system) {
  const auto p = static_cast<std::size_t>(protocol);
  const NcclLatency& ring = ring_latencies();
  switch (medium) {
    case Medium::kNvlink:
      return (hops + Seconds(kMicro * (ring.nvlink[p] - kNvlinkHop))) * system.node.step;
    case Medium::kPcie:
      return (hops + Seconds(kMicro * (ring.pcie[p] - kPcieHop))) * system.node.step;
    case Medium::kNetwork:
      break;
  }
  return (hops + Seconds(kMicro * (ring.net[p] - kNetHop))) * system.fabric.step;
}

Medium inside(const NcclSystem& system) { return system.nvlink ? Medium::kNvlink : Medium::kPcie; }

NcclEstimate messages_time(const Messages& messages, const NcclGroup& group) {
  const NcclSystem& system = group.system;
  NcclEstimate estimate;
  estimate.algorithm = NcclAlgorithm::kMessages;
  estimate.protocol = protocol_of(messages.largest);
  Seconds hop = way(estimate.protocol, group.layout.intra_latency, inside(system), system);
  if (messages.far > 0) {
    hop = std::max(hop, way(estimate.protocol, group.layout.inter_latency, Medium::kNetwork, system));
  }
  estimate.latency = launch(system, leaves_domain(group)) + base_of(estimate.protocol) + hop +
                     Seconds(kConnection * (messages.connections - 1));
  const double share = share_of(estimate.protocol);
  const double link = group.layout.intra.value() * system.node.bandwidth * share;
  const double near = link > 0 ? (messages.near + kLocalCopy * messages.own) / link : 0;
  const double far = messages.far > 0 ? messages.far / (group.layout.inter_per_rank.value() * share) : 0;
  estimate.network_bound = far > near;
  estimate.time = estimate.latency + Seconds(std::max(near, far));
  return estimate;
}

NcclEstimate all_to_all(double bytes, const NcclGroup& group) {
  const GroupLayout& layout = group.layout;
  const double per_peer = bytes / layout.ranks;
  const int far = layout.domains > 1 ? layout.ranks - layout.ranks_per_domain : 0;
  Messages messages;
  messages.largest = per_peer;
  messages.near = per_peer * (layout.ranks_per_domain - 1);
  messages.far = per_peer * far;
  messages.own = per_peer;
  // Over the domain's own links every peer is a connection, beyond them every domain (PXN).
  messages.connections = group.system.nvlink ? layout.ranks_per_domain - 1 + layout.domains - 1 : layout.ranks - 1;
  NcclEstimate estimate = messages_time(messages, group);
  if (estimate.protocol == NcclProtocol::kSimple) estimate.time += ramp(bytes, layout.ranks - 1, group);
  return estimate;
}

}  // namespace

NcclEstimate nccl_estimate(Operation operation, Bytes bytes, const NcclGroup& group, const NcclChoice& choice) {
  if (group.layout.ranks < 2 || bytes <= Bytes(0)) return {};
  const auto amount = static_cast<double>(bytes.value());
  NcclEstimate estimate;
  if (operation == Operation::kAllToAll) {
    estimate = all_to_all(amount, group);
  } else if (operation == Operation::kSendReceive) {
    estimate = nccl_send_receive(bytes, group);
  } else {
    std::optional<NcclCost> cost = nccl_choose(operation, amount, group, choice);
    if (!cost) cost = nccl_choose(operation, amount, group);
    estimate = corrected(cost.value(), amount, group);
  }
  estimate.latency += group.layout.lateness;
  estimate.time += group.layout.lateness;
  return estimate;
}

NcclEstimate nccl_message(Bytes bytes, const MessagePath& path, const NcclSystem& system) {
  if (bytes <= Bytes(0)) return {};
  const auto amount = static_cast<double>(bytes.value());
  const bool network = path.medium == Medium::kNetwork;
  NcclEstimate estimate;
  estimate.algorithm = NcclAlgorithm::kMessages;
  estimate.protocol = protocol_of(amount);
  estimate.network_bound = network;
  estimate.latency =
      launch(system, network) + base_of(estimate.protocol) + way(estimate.protocol, path.latency, path.medium, system);
  const double rate = path.rate.value() * share_of(estimate.protocol) * (network ? 1 : system.node.bandwidth);
  estimate.time = estimate.latency + Seconds(amount / rate);
  if (estimate.protocol == NcclProtocol::kSimple) {
    estimate.time += (network ? system.fabric.ramp : system.node.ramp) * filling(amount, 1 / kRampSteps);
  }
  return estimate;
}

NcclEstimate nccl_send_receive(Bytes bytes, const NcclGroup& group) {
  const GroupLayout& layout = group.layout;
  if (layout.ranks < 2) return {};
  const MessagePath path = leaves_domain(group)
                               ? MessagePath{layout.inter_latency, layout.inter_per_rank, Medium::kNetwork}
                               : MessagePath{layout.intra_latency, layout.intra, inside(group.system)};
  return nccl_message(bytes, path, group.system);
}

}  // namespace hw_models
