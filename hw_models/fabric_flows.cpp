#include "hw_models/fabric_flows.h"

#include <algorithm>

#include "hw_models/mixed.h"

namespace hw_models {
void FlowShare::add(const FlowShare& other) {
  factor = std::min(factor, other.factor);
  flows = other.most < most ? other.flows : most < other.most ? flows : std::max(flows, other.flows);
  most = std::min(most, other.most);
}

FabricFlows::FabricFlows(const ClusterSpec& spec)
    : fabric_(spec.fabric), thin_(spec.thin_link), number_(spec), shape_(fabric_shape(spec)) {}

void FabricFlows::add(const FabricFlow& flow) {
  if (!fabric_.hash_seed) return;
  for (int plane = 0; plane < shape_.planes; ++plane) {
    if (!uses(flow, plane)) continue;
    for (const Cable& cable : cables(flow, plane)) ++flows_on_[cable];
  }
}

FlowShare FabricFlows::share(const FabricFlow& flow) const {
  FlowShare share;
  share.factor = thin_factor(flow);
  if (!fabric_.hash_seed) return share;
  int used = 0;
  for (int plane = 0; plane < shape_.planes; ++plane) {
    if (!uses(flow, plane)) continue;
    ++used;
    for (const Cable& cable : cables(flow, plane)) {
      const int flows = flows_on_.at(cable);
      share.add({.most = rate(cable) / flows, .flows = flows});
    }
  }
  share.most = share.most * used;
  return share;
}

int FabricFlows::leaf(int nic) const { return number_.leaf_of_nic(nic / number_.nics, nic % number_.nics); }

int FabricFlows::tier(const FabricFlow& flow) const {
  const int from = leaf(flow.from_nic), to = leaf(flow.to_nic);
  if (from == to) return kLeafTier;
  return number_.pod_of_leaf(from) == number_.pod_of_leaf(to) ? kSpineTier : kCoreTier;
}

bool FabricFlows::on_thin_leaf(const FabricFlow& flow) const {
  if (!thin_ || thin_->at != ThinLink::At::kLeaf) return false;
  const int from = leaf(flow.from_nic), to = leaf(flow.to_nic);
  return from != to && (from == thin_->index || to == thin_->index);
}

/// The thin leaf is the first plane's; without uplinks it is avoided.
bool FabricFlows::uses(const FabricFlow& flow, int plane) const {
  return plane > 0 || !on_thin_leaf(flow) || thin_->factor > 0;
}

std::vector<FabricFlows::Cable> FabricFlows::cables(const FabricFlow& flow, int plane) const {
  const int up = tier(flow);
  if (up == kLeafTier) return {};
  const int from = leaf(flow.from_nic), to = leaf(flow.to_nic);
  const auto uplinks = static_cast<std::uint64_t>(shape_.uplinks);
  const auto spine = static_cast<int>(hash(flow, plane, kLeafTier) % uplinks);
  std::vector<Cable> way{{true, kLeafTier, plane, from, spine}, {false, kLeafTier, plane, to, spine}};
  if (up != kCoreTier) return way;
  const auto spine_uplinks = static_cast<std::uint64_t>(shape_.spine_uplinks);
  const auto core = static_cast<int>(hash(flow, plane, kSpineTier) % spine_uplinks);
  const int cable = spine * shape_.spine_uplinks + core;
  way.push_back({true, kSpineTier, plane, number_.pod_of_leaf(from), cable});
  way.push_back({false, kSpineTier, plane, number_.pod_of_leaf(to), cable});
  return way;
}

BytesPerSecond FabricFlows::rate(const Cable& cable) const {
  const auto& [up, tier, plane, at, port] = cable;
  if (tier == kSpineTier) return shape_.spine_cable * fabric_.efficiency;
  const double left = plane == 0 ? intact(thin_, ThinLink::At::kLeaf, at) : 1;
  return shape_.leaf_cable * (fabric_.efficiency * left);
}

double FabricFlows::thin_factor(const FabricFlow& flow) const {
  if (on_thin_leaf(flow))
    return thin_->factor > 0 ? thin_->factor : static_cast<double>(shape_.planes - 1) / shape_.planes;
  return std::min(intact(thin_, ThinLink::At::kNode, flow.from_nic / number_.nics),
                  intact(thin_, ThinLink::At::kNode, flow.to_nic / number_.nics));
}

std::uint64_t FabricFlows::hash(const FabricFlow& flow, int plane, int tier) const {
  std::uint64_t state = mixed(*fabric_.hash_seed + kGolden);
  for (const int part : {flow.from_nic, flow.to_nic, flow.label, plane, tier}) {
    state = mixed((state ^ static_cast<std::uint64_t>(part)) + kGolden);
  }
  return state;
}

}  // namespace hw_models
