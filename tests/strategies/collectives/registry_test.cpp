#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tests/strategies/collectives/collective_cases.h"

namespace strategies {
namespace {

constexpr ReducingHardware kAll{.switches = true, .network = true};

/// Runs it with roomy connections and, in the opposite order, with a single slot.
void prove(const CollectiveAlgorithm& algorithm, const Exchange& exchange, const NamedGroup& group, int& proved) {
  if (!refusal(algorithm, exchange, group.domains, kAll).empty()) return;
  ++proved;
  const auto steps = all_steps(algorithm, exchange, group.domains);
  for (const SymbolicOptions& options : {SymbolicOptions{8, false}, SymbolicOptions{1, true}}) {
    const SymbolicResult run = run_symbolically(exchange, group.domains, steps, options);
    ASSERT_TRUE(run.findings.empty()) << algorithm.name << " " << name(exchange.kind) << ", " << group.name << ", "
                                      << exchange.channels << " channels, " << exchange.slices << " slices, root "
                                      << exchange.root << ": " << run.findings.front();
  }
}

class EveryAlgorithm : public ::testing::TestWithParam<CollectiveAlgorithm> {};

TEST_P(EveryAlgorithm, KeepsItsPromiseForEveryGroup) {
  for (const ExchangeKind kind : GetParam().serves) {
    int proved = 0;
    for (const int n : rank_counts()) {
      for (const NamedGroup& group : groups_of(n)) {
        prove(GetParam(), {kind, n / 3, n - 1, 1, 1}, group, proved);
        if (n <= 12 || n == 16) prove(GetParam(), {kind, n - 1, n / 2, 3, 2}, group, proved);
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_GE(proved, 30) << name(kind);
  }
}

GroupDomains eight_ranks_for(const CollectiveAlgorithm& algorithm) {
  if (algorithm.needs.one_domain) return GroupDomains::consecutive(8, 8);
  return GroupDomains::consecutive(8, algorithm.needs.one_rank_per_domain ? 1 : 4);
}

// The symbolic run notices every missing step, and no step is superfluous.
TEST_P(EveryAlgorithm, NeedsEachOfItsSteps) {
  const GroupDomains group = eight_ranks_for(GetParam());
  for (const ExchangeKind kind : GetParam().serves) {
    const Exchange exchange{kind, 1, 6, 1, 1};
    const auto whole = all_steps(GetParam(), exchange, group);
    for (std::size_t member = 0; member < whole.size(); ++member) {
      for (std::size_t i = 0; i < whole[member].size(); ++i) {
        auto steps = whole;
        steps[member].erase(steps[member].begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_FALSE(run_symbolically(exchange, group, steps).findings.empty())
            << name(kind) << " without " << member_name(group, static_cast<int>(member)) << ": "
            << text(whole[member][i], group);
      }
    }
  }
}

TEST_P(EveryAlgorithm, StepsAreAFunctionOfTheirArguments) {
  const GroupDomains group = eight_ranks_for(GetParam());
  for (const ExchangeKind kind : GetParam().serves) {
    const Exchange exchange{kind, 1, 6, 2, 2};
    const auto steps = all_steps(GetParam(), exchange, group);
    EXPECT_EQ(steps, all_steps(GetParam(), exchange, group));
    EXPECT_FALSE(steps.front().empty() && steps[1].empty());
    for (const auto& list : steps) {
      for (const Step& step : list) EXPECT_LT(step.channel, 2 * exchange.channels);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, ::testing::ValuesIn(collective_algorithms()),
                         [](const auto& algorithm) {
                           std::string word(algorithm.param.name);
                           for (char& c : word) c = c == '-' ? '_' : c;
                           return word;
                         });

TEST(CollectiveRegistry, NamesAreUniqueAndEveryKindIsServed) {
  std::set<std::string_view> names;
  std::set<ExchangeKind> kinds;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    EXPECT_TRUE(names.insert(algorithm.name).second) << algorithm.name;
    EXPECT_EQ(find_collective_algorithm(algorithm.name), &algorithm);
    kinds.insert(algorithm.serves.begin(), algorithm.serves.end());
  }
  EXPECT_EQ(kinds.size(), 7u);
  EXPECT_EQ(find_collective_algorithm("rings"), nullptr);
}

TEST(CollectiveRegistry, SaysWhyAnAlgorithmRefuses) {
  const GroupDomains two_by_four = GroupDomains::consecutive(8, 4), uneven = GroupDomains::consecutive(7, 4);
  const GroupDomains box = GroupDomains::consecutive(8, 8);
  const auto why = [](std::string_view algorithm, const Exchange& exchange, const GroupDomains& group,
                      const ReducingHardware& hardware) {
    return refusal(*find_collective_algorithm(algorithm), exchange, group, hardware);
  };
  using enum ExchangeKind;
  EXPECT_EQ(why("ring", {}, uneven, {}), "");
  EXPECT_EQ(why("tree", {kBroadcast}, box, kAll), "tree does not serve broadcast");
  EXPECT_EQ(why("ring", {kBroadcast, 8}, box, kAll), "ring broadcast: root 8 is not a rank of the group");
  EXPECT_EQ(why("direct", {kSend, 0, -1}, box, kAll), "direct send: receiver -1 is not a rank of the group");
  EXPECT_EQ(why("ring", {kReduce, 0, 0, 0}, box, kAll), "ring reduce: needs at least one channel and one slice");
  EXPECT_EQ(why("nvls", {}, two_by_four, kAll), "nvls all-reduce: needs all ranks in one domain");
  EXPECT_EQ(why("nvls", {}, box, {}), "nvls all-reduce: needs switches that reduce");
  EXPECT_EQ(why("nvls-tree", {}, box, kAll), "nvls-tree all-reduce: needs more than one domain");
  EXPECT_EQ(why("nvls-tree", {}, uneven, kAll), "nvls-tree all-reduce: needs as many ranks in every domain");
  EXPECT_EQ(why("collnet-chain", {}, uneven, {.switches = true, .network = false}),
            "collnet-chain all-reduce: needs a network that reduces");
  EXPECT_EQ(why("pat", {kAllGather}, two_by_four, kAll), "pat all-gather: needs one rank per domain");
  EXPECT_THROW(all_steps(*find_collective_algorithm("pat"), {kAllGather}, two_by_four), std::invalid_argument);
}

TEST(CollectiveRegistry, DocumentationHasEveryAlgorithm) {
  std::ifstream file(TRAINYARD_SOURCE_DIR "/docs/collectives.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    EXPECT_NE(page.str().find(fmt::format("| `{}` |", algorithm.name)), std::string::npos) << algorithm.name;
  }
}

}  // namespace
}  // namespace strategies
