#include "strategies/collectives/nccl_cut.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace strategies {
namespace {

using hw_models::NcclProtocol;

constexpr double kLeastTraffic = 16 << 10;  ///< of a channel
constexpr std::array<double, 3> kSlot{32 << 10, 576'000, 512 << 10};
constexpr int kRingSlots = 4;  ///< of a chunk: half of a connection's
constexpr int kNvlsChannels = 16;

/// While S < factor x chunks at once x chunk, a chunk longer than the floor is halved.
struct Halving {
  double factor = 0, floor = 0;
};
using Halvings = std::array<Halving, 3>;

double local_ranks(const GroupDomains& group) { return group.domain_size(0); }
double levels(const GroupDomains& group) { return std::bit_width(static_cast<unsigned>(group.domains())) - 1; }

bool is_message(ExchangeKind kind) { return kind == ExchangeKind::kAllToAll || kind == ExchangeKind::kSend; }
bool is_rooted(ExchangeKind kind) { return kind == ExchangeKind::kBroadcast || kind == ExchangeKind::kReduce; }

// Blocks into which the algorithms cut S before channels and slices.
int one_block(ExchangeKind, const GroupDomains&) { return 1; }
int owned_blocks(ExchangeKind kind, const GroupDomains& group) {
  return is_rooted(kind) || kind == ExchangeKind::kSend ? 1 : group.ranks();
}
int blocks_of_heads(ExchangeKind kind, const GroupDomains& group) {
  return kind == ExchangeKind::kAllReduce ? group.domain_size(0) : group.ranks();
}

Halvings never(NcclProtocol, const GroupDomains&) { return {}; }
Halvings of_tree(NcclProtocol protocol, const GroupDomains& group) {
  if (protocol == NcclProtocol::kLl) return {};
  if (protocol == NcclProtocol::kLl128) {
    const double steps = (1 + levels(group) + 0.1 * local_ranks(group)) / local_ranks(group);
    return {{{64 * steps, 131072}, {16 * steps, 32768}}};
  }
  const double depth = local_ranks(group) - 1 + levels(group);
  return {{{8 * depth, 131072}, {4 * depth, 65536}, {depth, 32768}}};
}
Halvings of_nvls(NcclProtocol, const GroupDomains&) { return {{{64, 65536}, {8, 32768}, {2, 16384}}}; }
Halvings of_nvls_tree(NcclProtocol, const GroupDomains&) { return {{{4, 65536}, {1, 32768}}}; }
Halvings of_collnet_direct(NcclProtocol, const GroupDomains&) {
  return {{{128, 131072}, {16, 65536}, {16, 32768}}};  // depth 2
}
Halvings of_collnet_chain(NcclProtocol, const GroupDomains& group) {
  const double depth = local_ranks(group);
  return {{{64 * depth, 131072}, {8 * depth, 65536}, {depth, 32768}}};
}
Halvings of_pat(NcclProtocol, const GroupDomains&) { return {{{16, 65536}}}; }

// Bytes of a chunk before it is halved.
double slot(ExchangeKind, NcclProtocol protocol, const GroupDomains&) {
  return kSlot.at(static_cast<std::size_t>(protocol));
}
double ring_chunk(ExchangeKind kind, NcclProtocol protocol, const GroupDomains& group) {
  const bool long_chunk = protocol == NcclProtocol::kSimple && !is_rooted(kind);
  return slot(kind, protocol, group) * (long_chunk ? kRingSlots : 1);
}
double nvls_chunk(ExchangeKind, NcclProtocol, const GroupDomains&) { return 128 << 10; }
double nvls_tree_chunk(ExchangeKind, NcclProtocol, const GroupDomains& group) {
  return group.domains() >= 4 ? 64 << 10 : 128 << 10;
}
double collnet_chain_chunk(ExchangeKind, NcclProtocol, const GroupDomains&) { return 256 << 10; }
double message_chunk(ExchangeKind kind, NcclProtocol protocol, const GroupDomains& group) {
  const double whole = slot(kind, protocol, group);
  return group.domains() > 1 ? std::min<double>(128 << 10, whole) : whole;
}

struct CutRule {
  std::string_view algorithm;
  int (*blocks)(ExchangeKind, const GroupDomains&);
  double (*chunk)(ExchangeKind, NcclProtocol, const GroupDomains&);
  Halvings (*halvings)(NcclProtocol, const GroupDomains&);
  int trees = 1;         ///< NCCL channels in one of the exchange
  int own_channels = 0;  ///< instead of the communicator's, at any size
};

const std::array<CutRule, 10> kRules{{
    {"ring", owned_blocks, ring_chunk, never},
    {"tree", one_block, slot, of_tree, 2},
    {"pat", owned_blocks, slot, of_pat},
    {"nvls", blocks_of_heads, nvls_chunk, of_nvls, 1, kNvlsChannels},
    {"nvls-tree", blocks_of_heads, nvls_tree_chunk, of_nvls_tree, 2, kNvlsChannels},
    {"nvls-sharp", blocks_of_heads, nvls_chunk, of_nvls, 1, kNvlsChannels},
    {"collnet-direct", blocks_of_heads, slot, of_collnet_direct},
    {"collnet-chain", one_block, collnet_chain_chunk, of_collnet_chain},
    {"direct", owned_blocks, message_chunk, never},
    {"pxn", owned_blocks, message_chunk, never},
}};

double rounded_up(double ratio) { return std::max(1.0, std::ceil(ratio)); }

/// Of NCCL; a multiple of `trees`.
int channels(const CutRule& rule, const Exchange& exchange, double bytes, const GroupDomains& group) {
  const int most = rule.own_channels > 0 ? rule.own_channels : exchange.channels;
  double wanted = rule.own_channels;
  if (is_message(exchange.kind)) {
    const double part = kSlot.back() / (group.domains() > 1 ? 2 : 8);
    wanted = rounded_up(bytes / rule.blocks(exchange.kind, group) / part);
  } else if (wanted == 0) {
    const double traffic = exchange.kind == ExchangeKind::kAllReduce ? 2 : 1;
    wanted = rounded_up(bytes * traffic / kLeastTraffic);
  }
  const auto pairs = static_cast<int>(rounded_up(std::min<double>(wanted, most) / rule.trees));
  return pairs * rule.trees;
}

}  // namespace

Exchange nccl_cut(const CollectiveAlgorithm& algorithm, Exchange exchange, NcclProtocol protocol,
                  hw_models::Bytes whole, const GroupDomains& group) {
  const auto rule = std::ranges::find(kRules, algorithm.name, &CutRule::algorithm);
  if (rule == kRules.end()) throw std::invalid_argument("NCCL has no rule for " + std::string(algorithm.name));
  const auto bytes = static_cast<double>(whole.value());
  const int nccl_channels = channels(*rule, exchange, bytes, group);
  const double at_once = static_cast<double>(nccl_channels) * rule->blocks(exchange.kind, group);
  double chunk = rule->chunk(exchange.kind, protocol, group);
  for (const Halving& halving : rule->halvings(protocol, group)) {
    while (bytes < halving.factor * at_once * chunk && chunk > halving.floor) chunk /= 2;
  }
  exchange.channels = nccl_channels / rule->trees;
  exchange.slices = static_cast<int>(rounded_up(bytes / (at_once * chunk)));
  return exchange;
}

}  // namespace strategies
