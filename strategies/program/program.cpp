#include "strategies/program/program.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace strategies {
namespace {

template <std::size_t N, class Enum>
const char* at(const std::array<const char*, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "?";
}

constexpr std::array<const char*, kLanes> kLaneNames{
    "host",          "compute",      "tensor",           "data",    "gather", "send-next",
    "send-previous", "receive-next", "receive-previous", "context", "expert", "storage"};
constexpr std::array<const char*, 5> kHoldsNames{"weights", "gradients", "optimizer-state", "activations", "workspace"};
constexpr std::array<const char*, 8> kCollectiveNames{"all-reduce", "reduce-scatter", "all-gather", "broadcast",
                                                      "reduce",     "all-to-all",     "shift-next", "shift-previous"};
constexpr std::array<const char*, 8> kHostReasonNames{"loss-read",       "gradient-norm", "blocking-send",
                                                      "step-overhead",   "input",         "blocking-receive",
                                                      "blocking-launch", "token-counts"};
constexpr std::array<const char*, 8> kPhaseNames{"forward", "recompute", "backward", "weight-gradient",
                                                 "reduce",  "update",    "gather",   "other"};
constexpr std::array<const char*, 6> kBlockNames{"F", "BW", "B", "W", "U", "X"};
constexpr std::array<const char*, 4> kVariantNames{"only", "first", "middle", "last"};

}  // namespace

const char* name(Lane lane) { return at(kLaneNames, lane); }
const char* name(Holds holds) { return at(kHoldsNames, holds); }
const char* name(CollectiveKind kind) { return at(kCollectiveNames, kind); }
const char* name(HostReason reason) { return at(kHostReasonNames, reason); }
const char* name(Phase phase) { return at(kPhaseNames, phase); }
const char* name(BlockKind kind) { return at(kBlockNames, kind); }
const char* name(Variant variant) { return at(kVariantNames, variant); }

std::size_t Role::operations() const {
  std::size_t sum = 0;
  for (const Action& action : schedule) sum += blocks[action.block].operations.size();
  return sum;
}

Rank Program::peer(Rank rank, int virtual_stage) const {
  const int pipeline = views.front().find("pp");
  if (pipeline < 0) return rank;
  return views.front().moved(rank, pipeline, stage_of_virtual[static_cast<std::size_t>(virtual_stage)]);
}

std::vector<Rank> Program::representatives() const {
  std::vector<Rank> lowest(roles.size(), Rank{-1});
  for (std::size_t rank = role_of_rank.size(); rank-- > 0;) {
    lowest[role_of_rank[rank]] = Rank{static_cast<std::int32_t>(rank)};
  }
  return lowest;
}

}  // namespace strategies
