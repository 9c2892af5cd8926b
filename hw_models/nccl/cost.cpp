#include "hw_models/nccl/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hw_models {
namespace {

constexpr std::size_t kLl = 0, kLl128 = 1, kSimple = 2;
constexpr double kGiga = 1e9, kMicro = 1e-6;

bool is_collnet(NcclAlgorithm a) { return a == NcclAlgorithm::kCollNetDirect || a == NcclAlgorithm::kCollNetChain; }
bool gathers(Operation operation) {
  return operation == Operation::kAllGather || operation == Operation::kReduceScatter;
}

bool offered_for(Operation operation, NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::kRing:
      return operation != Operation::kAllToAll && operation != Operation::kSendReceive;
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kCollNetDirect:
      return operation == Operation::kAllReduce || gathers(operation);
    case NcclAlgorithm::kPat:
      return gathers(operation);
    default:
      return operation == Operation::kAllReduce;
  }
}

bool offered_here(Operation operation, NcclAlgorithm algorithm, const NcclGroup& group) {
  const bool reduces = operation != Operation::kAllGather;
  switch (algorithm) {
    case NcclAlgorithm::kNvls:
      return group.system.nvls && group.ranks_per_node() > 2 && (group.reducible || !reduces) &&
             (group.nodes() == 1 || group.system.sharp);
    case NcclAlgorithm::kNvlsTree:
      return group.system.nvls && group.ranks_per_node() > 2 && group.reducible && group.nodes() > 1;
    case NcclAlgorithm::kCollNetDirect:
    case NcclAlgorithm::kCollNetChain:
      return group.nodes() > 1 && group.system.sharp;
    case NcclAlgorithm::kPat:
      return group.nodes() > 1 && group.ranks_per_node() == 1;
    default:
      return true;
  }
}

/// All protocols for rings, trees and PAT; LL128 over NVLink and between like GPUs only.
bool offered_with(NcclAlgorithm algorithm, std::size_t protocol, const NcclGroup& group) {
  if (is_nvls(algorithm) || is_collnet(algorithm) || algorithm == NcclAlgorithm::kPat) return protocol == kSimple;
  return protocol != kLl128 || (group.system.nvlink && group.system.ll128);
}

struct Rate {
  double bus = 0;  ///< GB/s
  bool network_bound = false;
};

/// Channels x bandwidth of a channel before the corrections. On two nodes a tree's root link carries one direction
/// each: twice the NICs' rate.
Rate channels_rate(NcclAlgorithm algorithm, const NcclGroup& group) {
  const double intra =
      group.ranks_per_node() > 1 ? group.layout.intra.value() / kGiga : std::numeric_limits<double>::infinity();
  if (group.nodes() == 1) return {intra, false};
  const bool twice = algorithm == NcclAlgorithm::kTree && group.nodes() == 2;
  const double inter = group.layout.inter.value() / kGiga * (twice ? 2 : 1);
  return {std::min(intra, inter), inter < intra};
}

Rate ring_rate(std::size_t protocol, const NcclGroup& group) {
  const NcclGenerationFacts& facts = group.facts();
  Rate rate = channels_rate(NcclAlgorithm::kRing, group);
  if (protocol == kLl) rate.bus = std::min(facts.low_latency[group.nodes_index()], rate.bus * 0.5);
  if (protocol == kLl128) rate.bus = std::min(rate.bus * 0.92, facts.channels * facts.ring_ll128);
  return rate;
}

Rate tree_rate(std::size_t protocol, const NcclGroup& group) {
  const NcclGenerationFacts& facts = group.facts();
  const std::size_t nodes = group.nodes_index();
  Rate rate = channels_rate(NcclAlgorithm::kTree, group);
  rate.bus = std::min(rate.bus * 0.92, facts.channels * facts.tree[nodes]);
  if (protocol == kLl) rate.bus = std::min(rate.bus / 3.8, facts.low_latency[nodes]);
  if (protocol == kLl128) {
    rate.bus = std::min(rate.bus * (nodes == 0 ? 7.0 / 9 : 120.0 / 128), facts.channels * facts.tree_ll128[nodes]);
  }
  return rate;
}

Rate nvls_rate(Operation operation, NcclAlgorithm algorithm, const NcclGroup& group) {
  const NcclGenerationFacts& facts = group.facts();
  const int channels = std::min(group.ranks_per_node(), kMostNvlsChannels);
  const double speed = std::min(facts.nvls_channel, group.layout.intra.value() / kGiga * kNvlsShare / channels);
  double intra = speed * facts.nvls_efficiency * (channels - 1) / channels;
  intra *=
      operation == Operation::kAllReduce ? 2 : static_cast<double>(group.ranks_per_node() - 1) / group.ranks_per_node();
  if (group.nodes() == 1) return {channels * intra, false};
  const bool tree = algorithm == NcclAlgorithm::kNvlsTree;
  double outside = group.layout.inter.value() / kGiga;
  if (tree) outside = std::min(outside, kNvlsTreeNics * group.layout.inter_per_rank.value() / kGiga);
  const double inter = outside / channels * (tree && group.nodes() == 2 ? 2 : 1);
  const double ceiling = tree ? facts.nvls_tree[group.nodes_index()] : std::numeric_limits<double>::infinity();
  return {channels * std::min({intra, inter, ceiling}), inter < std::min(intra, ceiling)};
}

Rate collnet_rate(Operation operation, NcclAlgorithm algorithm, const NcclGroup& group) {
  Rate rate = channels_rate(algorithm, group);
  if (algorithm == NcclAlgorithm::kCollNetChain) return rate;
  if (gathers(operation)) {
    rate.bus = std::min(group.layout.intra.value(), 0.9 * group.layout.inter.value()) / kGiga;
    return rate;
  }
  const double shared = group.system.gpus_per_nic;
  rate.bus /= shared - (shared - 1) / 2;
  if (group.facts().nvls_efficiency > 0) rate.bus *= 0.85;
  return rate;
}

Rate bus_rate(Operation operation, NcclAlgorithm algorithm, std::size_t protocol, const NcclGroup& group) {
  if (algorithm == NcclAlgorithm::kRing) return ring_rate(protocol, group);
  if (algorithm == NcclAlgorithm::kTree) return tree_rate(protocol, group);
  if (is_nvls(algorithm)) return nvls_rate(operation, algorithm, group);
  if (is_collnet(algorithm)) return collnet_rate(operation, algorithm, group);
  Rate rate = channels_rate(algorithm, group);
  rate.bus *= 0.75;  // PAT
  return rate;
}

/// Ranks / steps for everything that moves like a ring, half for trees and CollNet.
double algorithm_share(Operation operation, NcclAlgorithm algorithm, const NcclGroup& group) {
  const bool ring_like = algorithm == NcclAlgorithm::kRing || is_nvls(algorithm) || operation != Operation::kAllReduce;
  return ring_like ? group.layout.ranks / ring_steps(operation, group.layout.ranks) : 0.5;
}

struct Hops {
  double intra, inter;  ///< us a step
};

/// The hops that this group has, plus what the algorithm and protocol add to the library's low-latency ring.
Hops hops(const NcclLatency& latency, std::size_t protocol, const NcclGroup& group) {
  const double nvlink = group.system.nvlink ? latency.nvlink[protocol] - kNvlinkHop : latency.pcie[protocol] - kPcieHop;
  return {std::max(0.0, group.layout.intra_latency.value() / kMicro + nvlink),
          std::max(0.0, group.layout.inter_latency.value() / kMicro + latency.net[protocol] - kNetHop)};
}

void ring_latency(Operation operation, std::size_t protocol, const NcclGroup& group, Hops hop, NcclCost& cost) {
  if (group.nodes() == 1) {
    cost.intra = cost.late_intra = cost.steps * hop.intra;
    return;
  }
  if (group.ranks_per_node() == 1) {  // NCCL: the tree's network latency
    const Hops tree = hops(kNcclLatencies[static_cast<std::size_t>(NcclAlgorithm::kTree)], protocol, group);
    cost.inter = cost.late_inter = cost.steps * tree.inter;
    return;
  }
  const double turns = operation == Operation::kAllReduce ? 2 : 1;
  const double inside = std::max(hop.intra, kNetOverhead * (protocol == kSimple ? 3 : 1));
  cost.inter = turns * (group.nodes() - 1) * hop.inter;
  cost.intra = (cost.steps - turns * (group.nodes() - 1)) * inside;
  cost.late_inter = turns * group.nodes() * hop.inter;
  cost.late_intra = (cost.steps - turns * group.nodes()) * inside;
}

void add_latency(Operation operation, std::size_t protocol, const NcclGroup& group, NcclCost& cost) {
  const NcclLatency& latency = kNcclLatencies[static_cast<std::size_t>(cost.algorithm)];
  const Hops hop = hops(latency, protocol, group);
  const double others = group.ranks_per_node() - 1;
  const double levels = group.nodes() > 1 ? std::log2(group.nodes()) : 0;
  const double crosses = group.nodes() > 1 ? 1 : 0;
  cost.base = latency.base[protocol];
  switch (cost.algorithm) {
    case NcclAlgorithm::kRing:
      ring_latency(operation, protocol, group, hop, cost);
      return;
    case NcclAlgorithm::kTree:
      cost.intra = 2 * others * hop.intra;
      cost.inter = 2 * levels * hop.inter;
      break;
    case NcclAlgorithm::kNvlsTree:
      cost.intra = hop.intra;
      cost.inter = 2 * levels * hop.inter;
      break;
    case NcclAlgorithm::kPat:
      cost.intra = 2.8 * group.layout.ranks;
      cost.inter = levels * hop.inter / 3.5;
      break;
    case NcclAlgorithm::kCollNetDirect:
      cost.intra = 2 * (std::min(1.0, others) * hop.intra + 0.4 * others);
      cost.inter = crosses * hop.inter;
      break;
    case NcclAlgorithm::kCollNetChain:
      cost.intra = 2 * others * hop.intra;
      cost.inter = crosses * hop.inter;
      break;
    default:  // NVLS
      cost.intra = hop.intra;
      cost.inter = crosses * hop.inter;
  }
  cost.late_intra = cost.intra;
  cost.late_inter = cost.inter;
}

/// Trees are slower at medium sizes, rings over several nodes take longer once their pipelines fill.
void add_size_effects(Operation operation, std::size_t protocol, double bytes, const NcclGroup& group, NcclCost& cost) {
  const NcclGenerationFacts& facts = group.facts();
  if (cost.algorithm == NcclAlgorithm::kTree && bytes >= 64) {
    const auto step = static_cast<std::size_t>(std::log2(bytes / 64));
    if (step < kTreeCorrection[protocol].size()) cost.size_factor = kTreeCorrection[protocol][step];
  }
  const bool plateau = cost.algorithm == NcclAlgorithm::kRing && protocol == kSimple && group.nodes() > 1 &&
                       operation == Operation::kAllReduce && bytes / (facts.channels * group.layout.ranks) >= 64;
  if (!plateau) return;
  const double factor = facts.generation == NcclGeneration::kVolta ? 1.9 : 1.4;
  for (double* part : {&cost.base, &cost.intra, &cost.inter, &cost.late_intra, &cost.late_inter}) *part *= factor;
}

}  // namespace

double ring_steps(Operation operation, int ranks) {
  switch (operation) {
    case Operation::kAllReduce:
      return 2.0 * (ranks - 1);
    case Operation::kBroadcast:
    case Operation::kReduce:
      return ranks;
    default:
      return ranks - 1;
  }
}

std::optional<NcclCost> nccl_cost(Operation operation, NcclAlgorithm algorithm, NcclProtocol protocol, double bytes,
                                  const NcclGroup& group) {
  const auto index = static_cast<std::size_t>(protocol);
  const bool offered = group.layout.ranks > 1 && offered_for(operation, algorithm) &&
                       offered_here(operation, algorithm, group) && offered_with(algorithm, index, group);
  if (!offered) return std::nullopt;
  const Rate rate = bus_rate(operation, algorithm, index, group);
  if (rate.bus <= 0) return std::nullopt;
  NcclCost cost;
  cost.algorithm = algorithm;
  cost.protocol = protocol;
  cost.steps = ring_steps(operation, group.layout.ranks);
  cost.bandwidth = rate.bus * algorithm_share(operation, algorithm, group);
  cost.network_bound = rate.network_bound;
  add_latency(operation, index, group, cost);
  add_size_effects(operation, index, bytes, group, cost);
  return cost;
}

std::optional<NcclCost> nccl_choose(Operation operation, double bytes, const NcclGroup& group,
                                    const NcclChoice& choice) {
  std::optional<NcclCost> best;
  for (const NcclAlgorithm algorithm : kNcclAlgorithms) {
    for (const NcclProtocol protocol : kNcclProtocols) {
      if (!choice.allows(algorithm, protocol)) continue;
      const std::optional<NcclCost> cost = nccl_cost(operation, algorithm, protocol, bytes, group);
      if (cost && (!best || cost->time(bytes) < best->time(bytes))) best = cost;
    }
  }
  return best;
}

}  // namespace hw_models
