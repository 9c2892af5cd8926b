#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "strategies/collectives/registered.h"

namespace strategies {
namespace {

using enum ExchangeKind;

constexpr std::array kRingKinds = {kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce};
constexpr std::array kAllReduceOnly = {kAllReduce};
constexpr std::array kBlockReductions = {kAllReduce, kReduceScatter, kAllGather};
constexpr std::array kGathers = {kReduceScatter, kAllGather};
constexpr std::array kMessages = {kAllToAll, kSend};

const std::array<CollectiveAlgorithm, 10> kAlgorithms{{
    {.name = "ring",
     .summary = "every rank passes blocks to its successor: least bytes, as many hops as ranks",
     .source = "Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms (2009); NCCL (arXiv:2507.04786)",
     .serves = kRingKinds,
     .needs = {},
     .steps = ring_steps},
    {.name = "tree",
     .summary = "double binary tree between domains, chains inside: logarithmic hops, each tree carries half",
     .source = "Sanders, Speck, Traff: Two-tree algorithms (2009); NCCL 2.4 and later (arXiv:2507.04786)",
     .serves = kAllReduceOnly,
     .needs = {},
     .steps = tree_steps},
    {.name = "pat",
     .summary = "parallel aggregated trees: logarithmic messages, the farthest are the smallest",
     .source = "Jeaugey: PAT (arXiv:2506.20252); NCCL 2.23 and later",
     .serves = kGathers,
     .needs = {.one_rank_per_domain = true},
     .steps = pat_steps},
    {.name = "nvls",
     .summary = "the domain's switch adds and copies: 1 + 1/n of the bytes instead of 2",
     .source = "NVIDIA NVLink SHARP (Hopper NVSwitch); NCCL 2.17 and later",
     .serves = kBlockReductions,
     .needs = {.one_domain = true, .switch_reduces = true},
     .steps = nvls_steps},
    {.name = "nvls-tree",
     .summary = "NVLS inside the domains, a double binary tree per rail between them",
     .source = "NCCL 2.18 and later",
     .serves = kAllReduceOnly,
     .needs = {.several_domains = true, .equal_domains = true, .switch_reduces = true},
     .steps = nvls_tree_steps},
    {.name = "nvls-sharp",
     .summary = "NVLS inside the domains, the network adds between them",
     .source = "NCCL 2.17 and later (NVLS with CollNet)",
     .serves = kAllReduceOnly,
     .needs = {.several_domains = true, .equal_domains = true, .switch_reduces = true, .network_reduces = true},
     .steps = nvls_sharp_steps},
    {.name = "collnet-direct",
     .summary = "every rank adds one piece of its domain, the network adds between domains",
     .source = "Graham et al.: SHARP (COMHPC 2016); NCCL CollNetDirect",
     .serves = kBlockReductions,
     .needs = {.several_domains = true, .equal_domains = true, .network_reduces = true},
     .steps = collnet_direct_steps},
    {.name = "collnet-chain",
     .summary = "a chain through each domain, the network adds between their heads",
     .source = "Graham et al.: SHARP (COMHPC 2016); NCCL CollNetChain",
     .serves = kAllReduceOnly,
     .needs = {.several_domains = true, .network_reduces = true},
     .steps = collnet_chain_steps},
    {.name = "direct",
     .summary = "every message straight to its destination",
     .source = "NCCL grouped ncclSend and ncclRecv (2.7 and later)",
     .serves = kMessages,
     .needs = {},
     .steps = direct_steps},
    {.name = "pxn",
     .summary = "messages change rails inside the domain and leave it bundled by destination",
     .source = "NCCL 2.12 (PXN: Doubling all2all performance, NVIDIA 2022)",
     .serves = kMessages,
     .needs = {.several_domains = true, .equal_domains = true},
     .steps = pxn_steps},
}};

std::string malformed(const Exchange& exchange, const GroupDomains& group) {
  const auto outside = [&](int rank) { return rank < 0 || rank >= group.ranks(); };
  if (exchange.channels < 1 || exchange.slices < 1) return "needs at least one channel and one slice";
  if (outside(exchange.root)) return fmt::format("root {} is not a rank of the group", exchange.root);
  if (outside(exchange.receiver)) return fmt::format("receiver {} is not a rank of the group", exchange.receiver);
  return {};
}

std::string lacking(const AlgorithmNeeds& needs, const GroupDomains& group, const ReducingHardware& hardware) {
  if (needs.one_domain && group.domains() > 1) return "needs all ranks in one domain";
  if (needs.several_domains && group.domains() == 1) return "needs more than one domain";
  if (needs.one_rank_per_domain && group.ranks() != group.domains()) return "needs one rank per domain";
  if (needs.equal_domains && !group.equal_domains()) return "needs as many ranks in every domain";
  if (needs.switch_reduces && !hardware.switches) return "needs switches that reduce";
  if (needs.network_reduces && !hardware.network) return "needs a network that reduces";
  return {};
}

}  // namespace

const char* name(ExchangeKind kind) {
  constexpr std::array kNames = {"all-reduce", "reduce-scatter", "all-gather", "broadcast",
                                 "reduce",     "all-to-all",     "send"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::span<const CollectiveAlgorithm> collective_algorithms() { return kAlgorithms; }

const CollectiveAlgorithm* find_collective_algorithm(std::string_view name) {
  const auto found = std::ranges::find(kAlgorithms, name, &CollectiveAlgorithm::name);
  return found == kAlgorithms.end() ? nullptr : &*found;
}

std::string refusal(const CollectiveAlgorithm& algorithm, const Exchange& exchange, const GroupDomains& group,
                    const ReducingHardware& hardware) {
  if (std::ranges::find(algorithm.serves, exchange.kind) == algorithm.serves.end()) {
    return fmt::format("{} does not serve {}", algorithm.name, name(exchange.kind));
  }
  std::string reason = malformed(exchange, group);
  if (reason.empty()) reason = lacking(algorithm.needs, group, hardware);
  return reason.empty() ? reason : fmt::format("{} {}: {}", algorithm.name, name(exchange.kind), reason);
}

std::vector<std::vector<Step>> all_steps(const CollectiveAlgorithm& algorithm, const Exchange& exchange,
                                         const GroupDomains& group) {
  const std::string reason = refusal(algorithm, exchange, group, {.switches = true, .network = true});
  if (!reason.empty()) throw std::invalid_argument(reason);
  std::vector<std::vector<Step>> steps;
  for (int member = 0; member < group.members(); ++member) {
    steps.push_back(algorithm.steps(exchange, group, member));
  }
  return steps;
}

}  // namespace strategies
