#include "strategies/collectives/nccl_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

using enum ExchangeKind;
using enum hw_models::NcclProtocol;
using hw_models::Bytes;
using hw_models::NcclProtocol;

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;
constexpr int kChannels = 24;

struct Case {
  std::string_view algorithm;
  ExchangeKind kind;
  NcclProtocol protocol;
  std::int64_t bytes;
  int domains;  ///< of 8 ranks
  int channels, slices;
};

// Derived by hand from the rules in nccl_cut.h.
TEST(NcclCut, ByHand) {
  const std::vector<Case> cases = {
      {"ring", kAllReduce, kSimple, 8, 1, 1, 1},
      {"ring", kAllReduce, kLl, 64 * kKiB, 1, 8, 1},             // 128 KiB of traffic
      {"ring", kAllGather, kLl, 64 * kKiB, 1, 4, 1},             // 64 KiB
      {"ring", kAllReduce, kSimple, kGiB, 1, 24, 3},             // 8 x 24 x 2 MiB = 384 MiB at once
      {"ring", kAllReduce, kLl, kGiB, 1, 24, 171},               // 8 x 24 x 32 KiB = 6 MiB
      {"ring", kBroadcast, kSimple, 48 * kMiB, 1, 24, 4},        // 24 x 512 KiB
      {"tree", kAllReduce, kSimple, kGiB, 1, 12, 86},            // depth 7: 56 x 24 x 512 KiB = 672 MiB < 1 GiB
      {"tree", kAllReduce, kSimple, 8 * kMiB, 1, 12, 11},        // 7 x 24 x 64 KiB = 10.5 MiB: 32 KiB
      {"tree", kAllReduce, kSimple, 8 * kKiB, 1, 1, 1},          // a pair is the least
      {"nvls", kAllReduce, kSimple, kGiB, 1, 16, 64},            // 16 x 8 x 128 KiB = 16 MiB
      {"nvls", kAllReduce, kSimple, 8 * kMiB, 1, 16, 2},         // 64, then 32 KiB: 4 MiB at once
      {"nvls-tree", kAllReduce, kSimple, kGiB, 4, 8, 128},       // 16 x 8 x 64 KiB = 8 MiB
      {"collnet-chain", kAllReduce, kSimple, kGiB, 2, 24, 342},  // 512 x 24 x 256 KiB = 3 GiB: 128 KiB
      {"direct", kSend, kSimple, kMiB, 1, 16, 1},                // parts of 64 KiB
      {"direct", kSend, kSimple, kMiB, 2, 4, 2},                 // parts of 256 KiB in chunks of 128
      {"direct", kAllToAll, kSimple, kMiB, 1, 2, 1},             // messages of 128 KiB
  };
  for (const Case& c : cases) {
    const CollectiveAlgorithm* algorithm = find_collective_algorithm(c.algorithm);
    ASSERT_NE(algorithm, nullptr);
    const GroupDomains group = GroupDomains::consecutive(8 * c.domains, 8);
    const Exchange cut = nccl_cut(*algorithm, {c.kind, 0, 1, kChannels, 1}, c.protocol, Bytes(c.bytes), group);
    EXPECT_EQ(cut.channels, c.channels) << c.algorithm << ' ' << name(c.kind) << ' ' << c.bytes;
    EXPECT_EQ(cut.slices, c.slices) << c.algorithm << ' ' << name(c.kind) << ' ' << c.bytes;
  }
}

/// Bytes of the largest block that a message holds.
double largest_block(const std::vector<std::vector<Step>>& steps, double bytes) {
  double largest = 0;
  for (const std::vector<Step>& member : steps) {
    for (const Step& step : member) {
      if (step.kind != StepKind::kSend) continue;
      largest = std::max(largest, bytes * (step.slice.end - step.slice.begin) / step.slice.parts);
    }
  }
  return largest;
}

// What the rules call blocks is what the algorithms cut: no block of a message exceeds the longest chunk.
TEST(NcclCut, KeepsEveryAlgorithmsMessagesToAChunk) {
  constexpr std::array kLongest{32.0 * kKiB, 576'000.0, 4 * 512.0 * kKiB};
  constexpr std::int64_t kBytes = 64 * kMiB;
  int checked = 0;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    for (const ExchangeKind kind : algorithm.serves) {
      for (const NamedGroup& group : groups_of(8)) {
        for (const NcclProtocol protocol : hw_models::kNcclProtocols) {
          const Exchange whole{kind, 0, 1, kChannels, 1};
          if (!refusal(algorithm, whole, group.domains, {true, true}).empty()) continue;
          const Exchange cut = nccl_cut(algorithm, whole, protocol, Bytes(kBytes), group.domains);
          const double longest = algorithm.needs.switch_reduces || algorithm.name == "collnet-chain"
                                     ? 256.0 * kKiB
                                     : kLongest.at(static_cast<std::size_t>(protocol));
          EXPECT_LE(largest_block(all_steps(algorithm, cut, group.domains), kBytes), longest)
              << algorithm.name << ' ' << name(kind) << ' ' << group.name;
          EXPECT_LE(cut.channels, kChannels);
          ++checked;
        }
      }
    }
  }
  EXPECT_GE(checked, 100);
}

}  // namespace
}  // namespace strategies
