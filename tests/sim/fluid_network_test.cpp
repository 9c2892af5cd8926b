#include "sim/fluid_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/sim/fluid_cases.h"
#include "tests/sim/progressive_filling.h"

namespace sim {
namespace {

using hw_models::Bytes;
using hw_models::BytesPerSecond;

// Capacities in the hand-solved cases are small multiples of 1e9 bytes/s, that is bytes per nanosecond.
struct Case {
  const char* name;
  FluidCase network;
  std::vector<std::int64_t> ends;  ///< solved by hand, nanoseconds
};

std::vector<Case> hand_solved() {
  return {
      {"alone: 100 us at 10 bytes/ns", {{10e9}, {{0, 1'000'000, {{0, 1}}}}, {}}, {100'000}},
      {"rounded up: 10 bytes at 3 bytes/ns", {{3e9}, {{0, 10, {{0, 1}}}}, {}}, {4}},
      {"one byte takes a nanosecond", {{50e9}, {{0, 1, {{0, 1}}}}, {}}, {1}},
      {"exact thirds end on time",  // three times 10 bytes at 10/3 bytes/ns
       {{10e9}, {{0, 10, {{0, 1}}}, {0, 10, {{0, 1}}}, {0, 10, {{0, 1}}}}, {}},
       {3, 3, 3}},
      // 5 bytes/ns each. A (200) ends at 40; B has 1000 - 200 left for 10: 40 + 80.
      {"two flows, one link", {{10e9}, {{0, 200, {{0, 1}}}, {0, 1'000, {{0, 1}}}}, {}}, {40, 120}},
      // B comes at 50, when A has 1000 - 500 left; 5 each: A ends at 150. B has 900 - 500 left: 150 + 40.
      {"the second comes later", {{10e9}, {{0, 1'000, {{0, 1}}}, {50, 900, {{0, 1}}}}, {}}, {150, 190}},
      // Links 10, 4, 6. Long and B get 2, A 8, C 4. A (400) ends at 50, which helps nobody: link 0 was not what held
      // Long. C (400) ends at 100. At 150 B (300) ends, Long has 600 - 300 left and min(10, 4, 6) = 4: 150 + 75.
      {"parking lot",
       {{10e9, 4e9, 6e9},
        {{0, 600, {{0, 1}, {1, 1}, {2, 1}}}, {0, 400, {{0, 1}}}, {0, 300, {{1, 1}}}, {0, 400, {{2, 1}}}},
        {}},
       {225, 50, 150, 100}},
      // Weights 1 : 3 on 8: 2 and 6. B (600) ends at 100; A has 1000 - 200 left at 8: 100 + 100.
      {"weights", {{8e9}, {{0, 1'000, {{0, 1}}, 1}, {0, 600, {{0, 1}}, 3}}, {}}, {200, 100}},
      // A is capped at 2, B gets 8. B (800) ends at 100; A stays at 2: 1000 / 2.
      {"a cap", {{10e9}, {{0, 1'000, {{0, 1}}, 1, 2e9}, {0, 800, {{0, 1}}}}, {}}, {500, 100}},
      // A collective of 1200 bytes of work, 1.5 bytes on each of links 0 to 2 (30), meets a flow of 600 on link 1:
      // 1.5 x + x = 30, x = 12. The flow ends at 50; the collective has 600 left at 30 / 1.5 = 20: 50 + 30.
      {"a collective over three links",
       {{30e9, 30e9, 30e9}, {{0, 1'200, {{0, 1.5}, {1, 1.5}, {2, 1.5}}}, {0, 600, {{1, 1}}}}, {}},
       {80, 50}},
      // 10 bytes/ns until 30, then 5: 1000 - 300 left, 30 + 140.
      {"a link degrades", {{10e9}, {{0, 1'000, {{0, 1}}}}, {{30, 0, 5e9}}}, {170}},
      // Dead from 30 to 1030.
      {"a link dies and comes back", {{10e9}, {{0, 1'000, {{0, 1}}}}, {{30, 0, 0}, {1'030, 0, 10e9}}}, {1'100}},
      // It loads nothing before 40: A alone until then (400 of 700), then 5 each: A 40 + 60. B has 1000 - 300: + 70.
      {"a latency",
       {{10e9}, {{0, 700, {{0, 1}}}, {0, 1'000, {{0, 1}}, 1, MaxMinFairness::kNoCap, 40}}, {}},
       {100, 170}},
      {"no work", {{10e9}, {{7, 0, {{0, 1}}}, {7, 0, {{0, 1}}, 1, MaxMinFairness::kNoCap, 20}}, {}}, {7, 27}},
      {"no link and no cap", {{}, {{5, 1'000, {}}}, {}}, {5}},
      {"no link but a cap", {{}, {{5, 1'000, {}, 1, 2e9}}, {}}, {505}},
      // 1e15 bytes at 50 bytes/ns: more than half a year without losing a nanosecond.
      {"long", {{50e9}, {{0, 1'000'000'000'000'000, {{0, 1}}}}, {}}, {20'000'000'000'000}},
  };
}

TEST(FluidNetwork, EqualsHandSolvedCases) {
  for (const Case& c : hand_solved()) EXPECT_EQ(ends_of(c.network), c.ends) << c.name;
}

TEST(FluidNetwork, TheReferenceEqualsHandSolvedCasesToo) {
  for (const Case& c : hand_solved()) {
    if (c.network.transfers[0].bytes == 0 || c.network.capacities.empty()) continue;
    EXPECT_EQ(slow_ends(c.network), c.ends) << c.name;
  }
}

std::vector<CaseKind> kinds() {
  return {{.links = 3, .transfers = 20, .most_links = 3, .changes = 3},
          {.links = 12, .transfers = 60, .most_links = 3},
          {.links = 12, .transfers = 60, .most_links = 4, .changes = 8},
          {.links = 40, .transfers = 60, .most_links = 2, .plain = true},
          {.links = 10, .transfers = 50, .most_links = 4, .plain = true, .ties = true},
          {.links = 20, .transfers = 60, .most_links = 6, .ties = true, .changes = 4}};
}

TEST(FluidNetwork, EqualsTheSlowReference) {
  // Each end is rounded up once on either side; a nanosecond more or less may pass on to what shares a link.
  constexpr std::int64_t kNanoseconds = 3;
  for (const CaseKind& kind : kinds()) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const FluidCase c = random_case(seed, kind);
      const std::vector<std::int64_t> ends = ends_of(c), slow = slow_ends(c);
      for (std::size_t i = 0; i < ends.size(); ++i) {
        ASSERT_LE(std::abs(ends[i] - slow[i]), kNanoseconds) << "seed " << seed << ", transfer " << i;
      }
    }
  }
}

// What all links carried over time is what the transfers had to send; no link ever carries more than it can.
TEST(FluidNetwork, SendsEveryByteOnce) {
  for (const CaseKind& kind : kinds()) {
    for (std::uint64_t seed = 100; seed < 110; ++seed) {
      const FluidCase c = random_case(seed, kind);
      std::vector<double> carried(c.capacities.size(), 0), expected = carried, rounding = carried;
      CaseRun run(c);
      run.run([&](const FluidNetwork& network, std::int64_t elapsed_ns) {
        for (LinkIndex link = 0; elapsed_ns > 0 && link < carried.size(); ++link) {
          ASSERT_LE(network.fairness().load(link), network.fairness().capacity(link) * (1 + 1e-11));
          carried[link] += network.fairness().load(link) * 1e-9 * static_cast<double>(elapsed_ns);
        }
      });
      for (const auto& transfer : c.transfers) {
        for (const LinkUse& use : transfer.uses) {
          expected[use.link] += use.factor * static_cast<double>(transfer.bytes);
          rounding[use.link] += 100;  // a nanosecond at full rate (100 bytes/ns): ends are whole nanoseconds
        }
      }
      EXPECT_EQ(run.network().active(), 0U);
      for (std::size_t link = 0; link < carried.size(); ++link) {
        EXPECT_GE(carried[link], expected[link] * (1 - 1e-9) - rounding[link] / 64)
            << "seed " << seed << ", link " << link;
        EXPECT_LE(carried[link], expected[link] * (1 + 1e-9) + rounding[link]) << "seed " << seed << ", link " << link;
      }
    }
  }
}

TEST(FluidNetwork, OrderOfStartingDoesNotMatter) {
  for (const CaseKind& kind : kinds()) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const FluidCase c = random_case(seed, kind);
      const std::vector<std::int64_t> ends = ends_of(c);
      std::vector<std::size_t> order(ends.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::mt19937_64 random(seed);
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
      FluidCase shuffled = c;
      for (std::size_t i = 0; i < order.size(); ++i) shuffled.transfers[i] = c.transfers[order[i]];
      const std::vector<std::int64_t> other = ends_of(shuffled);
      for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(other[i], ends[order[i]]) << "seed " << seed;
    }
  }
}

TEST(FluidNetwork, EqualRunsAreEqualToTheByte) {
  const FluidCase c = random_case(5, {.links = 20, .transfers = 200, .most_links = 4, .changes = 5});
  CaseRun first(c), second(c);
  first.run();
  second.run();
  EXPECT_EQ(first.engine().fingerprint(), second.engine().fingerprint());
  EXPECT_EQ(first.order(), second.order());
}

TEST(FluidNetwork, SimultaneousChangesAreOneSolve) {
  FluidCase c{{10e9, 10e9}, {}, {}};
  for (int i = 0; i < 100; ++i) c.transfers.push_back({0, 1'000, {{0, 1}, {1, 1}}});
  CaseRun run(c);
  run.run();
  EXPECT_EQ(run.ends(), std::vector<std::int64_t>(100, 10'000));
  EXPECT_EQ(run.network().solves(), 2U);  // when all begin, when all end
}

// Ends that come back as new starts at the same time still are one solve: every round of a chain is one.
TEST(FluidNetwork, SuccessorsJoinTheSolveOfTheirPredecessors) {
  constexpr std::uint64_t kChains = 10, kRounds = 5;
  Engine engine;
  FluidNetwork network(engine, as_rates({10e9}), 0);
  const std::array<LinkUse, 1> uses{{{0, 1}}};
  std::uint64_t started = 0;
  const auto start = [&] { network.start({.work = Bytes(100), .uses = uses, .tag = started++}); };
  while (started < kChains) start();
  std::vector<std::uint64_t> ended;
  engine.run([&](EventId id) {
    network.handle(id, [&](std::uint64_t tag) {
      ended.push_back(tag);
      if (started < kChains * kRounds) start();
    });
  });
  EXPECT_EQ(engine.now(), 500);  // 5 rounds of 10 x 100 bytes at 10 bytes/ns
  EXPECT_EQ(network.solves(), kRounds + 1);
  EXPECT_EQ(ended.size(), kChains * kRounds);
  EXPECT_TRUE(std::ranges::is_sorted(ended));  // those that end together are reported in the order of their starts
}

TEST(FluidNetwork, WhatCannotMoveIsReportedAndDoesNotLoop) {
  const FluidCase c{{10e9, 0}, {{0, 500, {{0, 1}, {1, 1}}}, {0, 500, {{0, 1}}}, {5, 70, {{1, 1}}}}, {}};
  CaseRun run(c);
  run.run();
  EXPECT_EQ(run.ends(), (std::vector<std::int64_t>{-1, 50, -1}));
  EXPECT_EQ(run.network().active(), 2U);
  const auto stalled = run.network().stalled();
  ASSERT_EQ(stalled.size(), 2U);
  EXPECT_EQ(stalled[0].tag, 0U);
  EXPECT_EQ(stalled[1].tag, 2U);
  EXPECT_EQ(stalled[0].link, 1U);
  EXPECT_EQ(stalled[1].link, 1U);
}

// Two networks on one engine, and a caller's own events among them.
TEST(FluidNetwork, SharesTheEngine) {
  Engine engine;
  FluidNetwork first(engine, as_rates({10e9}), 10), second(engine, as_rates({1e9}), 12);
  const std::array<LinkUse, 1> uses{{{0, 1}}};
  std::vector<std::int64_t> times;
  engine.at(3, 1);
  engine.run([&](EventId id) {
    if (id == 1) {
      first.start({.work = Bytes(100), .uses = uses});
      second.start({.work = Bytes(100), .uses = uses});
    }
    for (FluidNetwork* network : {&first, &second}) {
      if (network->owns(id)) network->handle(id, [&](std::uint64_t) { times.push_back(engine.now()); });
    }
  });
  EXPECT_EQ(times, (std::vector<std::int64_t>{13, 103}));
}

TEST(FluidNetwork, KnowsTheTimeAlone) {
  Engine engine;
  const FluidNetwork network(engine, as_rates({10e9, 30e9, 0}), 0);
  const std::array<LinkUse, 2> uses{{{0, 1}, {1, 1.5}}};
  const std::array<LinkUse, 1> dead{{{2, 1}}};
  const std::array<LinkUse, 3> twice{{{0, 1}, {1, 1}, {0, 4}}};  // 10 / (1 + 4)
  EXPECT_EQ(network.alone_ns({.work = Bytes(1'000), .uses = twice}), 500);
  EXPECT_EQ(network.alone_ns({.work = Bytes(1'000), .uses = uses, .latency_ns = 7}), 107);
  EXPECT_EQ(network.alone_ns({.work = Bytes(1'000), .uses = uses, .cap = BytesPerSecond(2e9)}), 500);
  EXPECT_EQ(network.alone_ns({.work = Bytes(1'000), .uses = dead}), TimeIndex::kNever);
  EXPECT_EQ(network.alone_ns({.work = Bytes(0), .uses = dead, .latency_ns = 7}), 7);
}

TEST(FluidNetwork, RefusesWhatHasNoMeaning) {
  Engine engine;
  FluidNetwork network(engine, as_rates({10e9}), 0);
  const std::array<LinkUse, 1> nowhere{{{1, 1}}};
  EXPECT_THROW(network.start({.work = Bytes(-1)}), std::invalid_argument);
  EXPECT_THROW(network.start({.work = Bytes(1), .latency_ns = -1}), std::invalid_argument);
  EXPECT_THROW(network.start({.work = Bytes(1), .uses = nowhere}), std::invalid_argument);
  EXPECT_THROW(network.start({.work = Bytes(1), .uses = nowhere, .latency_ns = 5}), std::invalid_argument);
  EXPECT_EQ(network.active(), 0U);
}

}  // namespace
}  // namespace sim
