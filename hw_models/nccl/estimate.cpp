#include "hw_models/nccl/estimate.h"

#include <algorithm>
#include <cmath>

namespace hw_models {
namespace {

constexpr double kMicro = 1e-6;

// Shared by all systems, chosen once on the sweeps of docs/nccl.md: the part of a step that a rank's own data
// takes, the size at which half of the ramp is paid, the cost of one more connection, the rate of a copy inside a GPU.
constexpr double kLocalPass = 0.5, kRampBytes = 32.0 * (1 << 20), kConnection = 0.3 * kMicro, kLocalCopy = 0.7;
constexpr double kRampSteps = 14;

bool leaves_domain(const NcclGroup& group) { return group.nodes() > 1; }

Seconds launch(const NcclGroup& group) {
  return group.system.node.launch + (leaves_domain(group) ? group.system.fabric.launch : Seconds(0));
}

/// Of the pipeline, beside that of an all-reduce over 8 ranks; between domains no deeper than a tree.
double depth(double steps, const NcclGroup& group) {
  const double ring = steps / kRampSteps;
  return leaves_domain(group) ? std::min(ring, 1 + std::log2(group.nodes())) : ring;
}

Seconds ramp(double bytes, double steps, const NcclGroup& group) {
  const Seconds full = leaves_domain(group) ? group.system.fabric.ramp : group.system.node.ramp;
  return full * (depth(steps, group) * bytes / (bytes + kRampBytes));
}

NcclEstimate corrected(const NcclCost& cost, double bytes, const NcclGroup& group) {
  const NodeCorrection& node = group.system.node;
  NcclEstimate estimate;
  estimate.algorithm = cost.algorithm;
  estimate.protocol = cost.protocol;
  estimate.network_bound = cost.network_bound;
  const double steps = node.step * cost.intra + group.system.fabric.step * cost.inter;
  const Seconds base = launch(group) + Seconds(kMicro * (cost.base - kLowLatencyBase));
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

NcclEstimate messages_time(const Messages& messages, const NcclGroup& group) {
  const auto& ring = kNcclLatencies[static_cast<std::size_t>(NcclAlgorithm::kRing)];
  const bool low_latency = messages.largest <= kMessageLowLatencyBytes;
  NcclEstimate estimate;
  estimate.algorithm = NcclAlgorithm::kMessages;
  estimate.protocol = low_latency ? NcclProtocol::kLl : NcclProtocol::kSimple;
  const std::size_t p = static_cast<std::size_t>(estimate.protocol);
  const bool nvlink = group.system.nvlink;
  const double extra = nvlink ? ring.nvlink[p] - kNvlinkHop : ring.pcie[p] - kPcieHop;
  Seconds hop = (group.layout.intra_latency + Seconds(kMicro * extra)) * group.system.node.step;
  if (messages.far > 0) {
    const Seconds net = group.layout.inter_latency + Seconds(kMicro * (ring.net[p] - kNetHop));
    hop = std::max(hop, net * group.system.fabric.step);
  }
  estimate.latency = launch(group) + Seconds(kMicro * (ring.base[p] - kLowLatencyBase)) + hop +
                     Seconds(kConnection * (messages.connections - 1));
  const double share = low_latency ? 0.5 : 1;
  const double link = group.layout.intra.value() * group.system.node.bandwidth * share;
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
  if (operation == Operation::kAllToAll) return all_to_all(amount, group);
  std::optional<NcclCost> cost = nccl_choose(operation, amount, group, choice);
  if (!cost) cost = nccl_choose(operation, amount, group);
  return cost ? corrected(*cost, amount, group) : NcclEstimate{};
}

NcclEstimate nccl_send_receive(Bytes bytes, const NcclGroup& group) {
  if (group.layout.ranks < 2 || bytes <= Bytes(0)) return {};
  Messages messages;
  messages.largest = static_cast<double>(bytes.value());
  (leaves_domain(group) ? messages.far : messages.near) = messages.largest;
  NcclEstimate estimate = messages_time(messages, group);
  if (estimate.protocol == NcclProtocol::kSimple) estimate.time += ramp(messages.largest, 1, group);
  return estimate;
}

}  // namespace hw_models
