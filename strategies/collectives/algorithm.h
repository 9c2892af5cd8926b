// Collective algorithms as pure functions: (exchange, group, member) -> the steps of that member. They follow NCCL's
// constructions; docs/collectives.md lists what each costs in bytes and hops. A new algorithm is one file and one line
// of the table in registry.cpp; tests/strategies/collectives proves its postcondition by running it symbolically.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/collectives/group_domains.h"
#include "strategies/collectives/step.h"

namespace strategies {

/// The collectives of a Program (CollectiveKind) and the single message, which a Program writes as Send and Receive.
enum class ExchangeKind : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSend
};
const char* name(ExchangeKind kind);

/// What a group exchanges. S is cut into one block per rank where blocks have owners (all-gather, reduce-scatter,
/// all-to-all: block r belongs to rank r).
struct Exchange {
  ExchangeKind kind = ExchangeKind::kAllReduce;
  int root = 0;      ///< of broadcast and reduce; the sender of a send
  int receiver = 0;  ///< of a send
  int channels = 1;  ///< >= 1; each carries an equal share of every block, on rings and chains of its own
  int slices = 1;    ///< >= 1; pieces of a channel's share that follow each other through a pipeline
};

/// What the group and the hardware must offer. No algorithm here needs a power of two.
struct AlgorithmNeeds {
  bool one_domain = false;
  bool several_domains = false;
  bool one_rank_per_domain = false;
  bool equal_domains = false;    ///< as many ranks in each
  bool switch_reduces = false;   ///< NVSwitch of the third generation or later: reduces and multicasts
  bool network_reduces = false;  ///< SHARP
};

struct ReducingHardware {
  bool switches = false, network = false;
};

struct CollectiveAlgorithm {
  std::string_view name, summary, source;
  std::span<const ExchangeKind> serves;
  AlgorithmNeeds needs;
  /// Steps of one member. Call it only where refusal() is empty.
  std::vector<Step> (*steps)(const Exchange& exchange, const GroupDomains& group, int member);
};

std::span<const CollectiveAlgorithm> collective_algorithms();
const CollectiveAlgorithm* find_collective_algorithm(std::string_view name);

/// Why the algorithm cannot do this exchange here; empty if it can.
std::string refusal(const CollectiveAlgorithm& algorithm, const Exchange& exchange, const GroupDomains& group,
                    const ReducingHardware& hardware);

/// Steps of every member, on hardware that has all the algorithm needs. Throws std::invalid_argument with the refusal.
std::vector<std::vector<Step>> all_steps(const CollectiveAlgorithm& algorithm, const Exchange& exchange,
                                         const GroupDomains& group);

}  // namespace strategies
