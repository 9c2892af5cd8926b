#include "sim/max_min_fairness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/sim/fluid_cases.h"
#include "tests/sim/progressive_filling.h"

namespace sim {
namespace {

using hw_models::BytesPerSecond;
using Slot = MaxMinFairness::Slot;

constexpr double kSame = 1e-11;  // relative

struct Case {
  const char* name;
  std::vector<double> capacities;
  std::vector<FluidCase::Transfer> transfers;  ///< only uses, weight and cap matter
  std::vector<double> rates;                   ///< solved by hand
};

FluidCase::Transfer on(std::vector<LinkUse> uses, double weight = 1, double cap = MaxMinFairness::kNoCap) {
  FluidCase::Transfer transfer;
  transfer.uses = std::move(uses);
  transfer.weight = weight;
  transfer.cap = cap;
  return transfer;
}

std::vector<Case> hand_solved() {
  return {
      // One link: 12 / 2.
      {"two flows on one link", {12e9}, {on({{0, 1}}), on({{0, 1}})}, {6e9, 6e9}},
      // The long flow shares each of three links with one short flow. All fill alike: at 10 / 2 all links are full.
      {"parking lot, equal links",
       {10e9, 10e9, 10e9},
       {on({{0, 1}, {1, 1}, {2, 1}}), on({{0, 1}}), on({{1, 1}}), on({{2, 1}})},
       {5e9, 5e9, 5e9, 5e9}},
      // Link 1 (4) fills first: long and B get 2. Links 0 and 2 have 10 - 2 and 6 - 2 left for A and C.
      {"parking lot, unequal links",
       {10e9, 4e9, 6e9},
       {on({{0, 1}, {1, 1}, {2, 1}}), on({{0, 1}}), on({{1, 1}}), on({{2, 1}})},
       {2e9, 8e9, 2e9, 4e9}},
      // Weights 1 : 2 : 3 on 12: level 12 / 6 = 2.
      {"weights", {12e9}, {on({{0, 1}}, 1), on({{0, 1}}, 2), on({{0, 1}}, 3)}, {2e9, 4e9, 6e9}},
      // The cap 2 is below 12 / 3 = 4; the others share what it leaves: (12 - 2) / 2.
      {"a cap gives way", {12e9}, {on({{0, 1}}, 1, 2e9), on({{0, 1}}), on({{0, 1}})}, {2e9, 5e9, 5e9}},
      // Cap 3 with weight 4 is level 0.75; the other gets 12 - 3.
      {"a cap with a weight", {12e9}, {on({{0, 1}}, 4, 3e9), on({{0, 1}})}, {3e9, 9e9}},
      // Nobody else needs the link: at its cap, the link is not full.
      {"a cap alone", {12e9}, {on({{0, 1}}, 1, 5e9)}, {5e9}},
      {"only a cap", {}, {on({}, 2, 5e9)}, {5e9}},
      // A collective puts 1.5 bytes per byte of work on links 0, 1, 2 (capacity 30) and meets a flow on link 1. Link 1:
      // 1.5 x + x = 30, x = 12; link 0 holds 18 of 30.
      {"a collective over three links",
       {30e9, 30e9, 30e9},
       {on({{0, 1.5}, {1, 1.5}, {2, 1.5}}), on({{1, 1}})},
       {12e9, 12e9}},
      // As above with a second flow on link 0 (capacity 20): link 0 fills at 1.5 x + x = 20, x = 8; link 1 then has
      // 30 - 12 left for its flow.
      {"the slowest link paces a collective",
       {20e9, 30e9, 30e9},
       {on({{0, 1.5}, {1, 1.5}, {2, 1.5}}), on({{1, 1}}), on({{0, 1}})},
       {8e9, 18e9, 8e9}},
      // Work that crosses the same link twice: 2 x + x = 12.
      {"the same link twice", {12e9}, {on({{0, 1}, {0, 1}}), on({{0, 1}})}, {4e9, 4e9}},
      // What puts nothing on a link is not slowed by it.
      {"a factor of zero", {12e9, 0}, {on({{0, 1}, {1, 0}})}, {12e9}},
      // No capacity: what crosses link 1 stands; the other has link 0 alone.
      {"a dead link", {12e9, 0}, {on({{0, 1}, {1, 1}}), on({{0, 1}})}, {0, 12e9}},
      // Bottlenecks in three generations. Link 0: 6 / 3 = 2 for A, B, C. Link 1: (9 - 2 from B) / 2 = 3.5 for D, E.
      // Link 2: 20 - 2 (C) - 3.5 (E) = 14.5 for F.
      {"a chain of bottlenecks",
       {6e9, 9e9, 20e9},
       {on({{0, 1}}), on({{0, 1}, {1, 1}}), on({{0, 1}, {2, 1}}), on({{1, 1}}), on({{1, 1}, {2, 1}}), on({{2, 1}})},
       {2e9, 2e9, 2e9, 3.5e9, 3.5e9, 14.5e9}},
  };
}

Slot add(MaxMinFairness& fairness, const FluidCase::Transfer& transfer) {
  return fairness.add(transfer.uses, transfer.weight, BytesPerSecond(transfer.cap));
}

TEST(MaxMinFairness, EqualsHandSolvedCases) {
  for (const Case& c : hand_solved()) {
    MaxMinFairness fairness(as_rates(c.capacities));
    std::vector<Slot> slots;
    for (const auto& transfer : c.transfers) slots.push_back(add(fairness, transfer));
    fairness.solve();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      EXPECT_NEAR(fairness.rate(slots[i]), c.rates[i], kSame * c.rates[i]) << c.name << ", activity " << i;
    }
  }
}

// One after the other, each change solved for itself, then a few removed: the same as from nothing.
TEST(MaxMinFairness, OneByOneEqualsAllAtOnce) {
  for (const Case& c : hand_solved()) {
    MaxMinFairness fairness(as_rates(c.capacities));
    std::vector<Slot> slots;
    for (const auto& transfer : c.transfers) {
      slots.push_back(add(fairness, transfer));
      fairness.solve();
    }
    for (const auto& transfer : c.transfers) {
      const Slot passing = add(fairness, transfer);
      fairness.solve();
      fairness.remove(passing);
      fairness.solve();
    }
    for (std::size_t i = 0; i < slots.size(); ++i) {
      EXPECT_NEAR(fairness.rate(slots[i]), c.rates[i], kSame * c.rates[i]) << c.name << ", activity " << i;
    }
  }
}

// Link 1 of the unequal parking lot goes from 4 to 12: link 2 (6) fills first, long = C = 3, then A = 10 - 3 and
// B = 12 - 3. At 1 and back: long = B = 0.5, A = 9.5, C = 5.5.
TEST(MaxMinFairness, FollowsCapacities) {
  MaxMinFairness fairness(as_rates({10e9, 4e9, 6e9}));
  const Slot flow = add(fairness, on({{0, 1}, {1, 1}, {2, 1}}));
  const Slot a = add(fairness, on({{0, 1}})), b = add(fairness, on({{1, 1}})), c = add(fairness, on({{2, 1}}));
  const auto expect = [&](double capacity, const std::vector<double>& rates) {
    fairness.set_capacity(1, BytesPerSecond(capacity));
    fairness.solve();
    const std::vector<Slot> slots{flow, a, b, c};
    for (std::size_t i = 0; i < slots.size(); ++i) {
      EXPECT_NEAR(fairness.rate(slots[i]), rates[i], kSame * rates[i]) << capacity << " " << i;
    }
  };
  expect(4e9, {2e9, 8e9, 2e9, 4e9});
  expect(12e9, {3e9, 7e9, 9e9, 3e9});
  expect(1e9, {0.5e9, 9.5e9, 0.5e9, 5.5e9});
  expect(0, {0, 10e9, 0, 6e9});
  expect(4e9, {2e9, 8e9, 2e9, 4e9});
}

TEST(MaxMinFairness, NamesTheBottleneck) {
  MaxMinFairness fairness(as_rates({10e9, 4e9}));
  const Slot both = add(fairness, on({{0, 1}, {1, 1}})), first = add(fairness, on({{0, 1}}));
  const Slot capped = add(fairness, on({{0, 1}}, 1, 1e9));
  fairness.solve();
  EXPECT_EQ(fairness.bottleneck(both), 1U);  // link 0 alone would give (10 - 1) / 2 = 4.5
  EXPECT_EQ(fairness.bottleneck(first), 0U);
  EXPECT_EQ(fairness.bottleneck(capped), 2U);
}

/// The transfers of a case under way, changed step by step at random; `check` sees every state.
template <class Check>
void wander(std::uint64_t seed, const CaseKind& kind, int steps, Check&& check) {
  FluidCase c = random_case(seed, kind);
  MaxMinFairness fairness(as_rates(c.capacities));
  std::mt19937_64 random(seed);
  std::map<std::size_t, Slot> slots;  // of the transfers under way
  for (int step = 0; step < steps; ++step) {
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t pick = random() % c.transfers.size();
      if (random() % 5 == 0) {
        const auto link = static_cast<LinkIndex>(random() % c.capacities.size());
        c.capacities[link] = random() % 6 == 0 ? 0 : 1e9 * static_cast<double>(1 + random() % 50);
        fairness.set_capacity(link, BytesPerSecond(c.capacities[link]));
      } else if (const auto found = slots.find(pick); found != slots.end()) {
        fairness.remove(found->second);
        slots.erase(found);
      } else {
        slots.emplace(pick, add(fairness, c.transfers[pick]));
      }
    }
    std::map<Slot, double> before;
    for (const auto& [transfer, slot] : slots) before[slot] = fairness.rate(slot);
    const auto changed = fairness.solve();
    for (const auto& [transfer, slot] : slots) {
      if (std::ranges::find(changed, slot) == changed.end()) {
        ASSERT_EQ(fairness.rate(slot), before[slot]);
      }
    }
    check(c, fairness, slots);
  }
}

std::vector<CaseKind> kinds() {
  return {{.links = 3, .transfers = 12, .most_links = 3},
          {.links = 12, .transfers = 40, .most_links = 3},
          {.links = 40, .transfers = 80, .most_links = 2, .plain = true},
          {.links = 10, .transfers = 40, .most_links = 4, .plain = true, .ties = true},
          {.links = 20, .transfers = 60, .most_links = 6, .ties = true}};
}

TEST(MaxMinFairness, EqualsProgressiveFillingWhileItChanges) {
  for (const CaseKind& kind : kinds()) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      wander(seed, kind, 60, [&](const FluidCase& c, const MaxMinFairness& fairness, const auto& slots) {
        std::vector<std::size_t> active;
        for (const auto& [transfer, slot] : slots) active.push_back(transfer);
        const std::vector<double> rates = progressive_filling(c.capacities, c.transfers, active);
        for (std::size_t i = 0; i < active.size(); ++i) {
          ASSERT_NEAR(fairness.rate(slots.at(active[i])), rates[i], kSame * rates[i] + 1) << "seed " << seed;
        }
      });
    }
  }
}

// The definition, apart from any algorithm: no link above its capacity; every activity at its cap or on a full link
// where no other has a higher rate per weight.
TEST(MaxMinFairness, EveryActivityHasABottleneck) {
  for (const CaseKind& kind : kinds()) {
    wander(99, kind, 300, [&](const FluidCase& c, const MaxMinFairness& fairness, const auto& slots) {
      std::vector<double> loads(c.capacities.size(), 0), levels(c.capacities.size(), 0);
      for (const auto& [transfer, slot] : slots) {
        for (const LinkUse& use : c.transfers[transfer].uses) {
          loads[use.link] += use.factor * fairness.rate(slot);
          levels[use.link] = std::max(levels[use.link], fairness.rate(slot) / c.transfers[transfer].weight);
        }
      }
      for (LinkIndex link = 0; link < loads.size(); ++link) {
        ASSERT_LE(loads[link], c.capacities[link] * (1 + kSame));
        ASSERT_NEAR(loads[link], fairness.load(link), kSame * loads[link] + 1);
      }
      for (const auto& [transfer, slot] : slots) {
        const double level = fairness.rate(slot) / c.transfers[transfer].weight;
        bool stopped = fairness.rate(slot) >= c.transfers[transfer].cap * (1 - kSame);
        for (const LinkUse& use : c.transfers[transfer].uses) {
          const bool full = loads[use.link] >= c.capacities[use.link] * (1 - kSame) - 1;
          stopped = stopped || (full && levels[use.link] <= level * (1 + kSame));
        }
        ASSERT_TRUE(stopped) << "transfer " << transfer;
      }
    });
  }
}

TEST(MaxMinFairness, OrderOfAddingDoesNotMatter) {
  for (const CaseKind& kind : kinds()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const FluidCase c = random_case(seed, kind);
      std::vector<std::size_t> order(c.transfers.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::vector<double> first;
      std::mt19937_64 random(seed);
      for (int permutation = 0; permutation < 4; ++permutation) {
        MaxMinFairness fairness(as_rates(c.capacities));
        std::vector<double> rates(order.size());
        std::vector<Slot> slots(order.size());
        for (const std::size_t i : order) slots[i] = add(fairness, c.transfers[i]);
        fairness.solve();
        for (const std::size_t i : order) rates[i] = fairness.rate(slots[i]);
        if (permutation == 0) first = rates;
        ASSERT_EQ(rates, first) << "seed " << seed;  // to the bit
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
      }
    }
  }
}

// A change is solved only where it reaches: not in another component, not below its level, not across a link with room.
TEST(MaxMinFairness, SolvesOnlyWhatAChangeReaches) {
  MaxMinFairness fairness(as_rates({6e9, 20e9, 10e9, 100e9}));
  const Slot slow1 = add(fairness, on({{0, 1}})), slow2 = add(fairness, on({{0, 1}, {1, 1}, {3, 1}}));
  const Slot fast = add(fairness, on({{1, 1}})), passing = add(fairness, on({{1, 1}}));
  const Slot apart1 = add(fairness, on({{2, 1}, {3, 1}})), apart2 = add(fairness, on({{2, 1}}));
  EXPECT_EQ(fairness.solve().size(), 6U);
  // slow 3, 3; fast and passing (20 - 3) / 2; apart 5, 5. Without `passing`, only `fast` can rise, to 17.
  fairness.remove(passing);
  const auto changed = fairness.solve();
  EXPECT_EQ(std::vector<Slot>(changed.begin(), changed.end()), std::vector<Slot>{fast});
  EXPECT_NEAR(fairness.rate(fast), 17e9, 1);
  // Without slow1, slow2 takes link 0 alone and fast gives way; link 3 has room, so nothing moves on link 2.
  fairness.remove(slow1);
  const auto moved = fairness.solve();
  std::vector<Slot> sorted(moved.begin(), moved.end());
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, (std::vector<Slot>{slow2, fast}));
  EXPECT_NEAR(fairness.rate(slow2), 6e9, 1);
  EXPECT_NEAR(fairness.rate(fast), 14e9, 1);
  EXPECT_NEAR(fairness.rate(apart1), fairness.rate(apart2), 1);
  EXPECT_EQ(fairness.solve().size(), 0U);
}

TEST(MaxMinFairness, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(MaxMinFairness(as_rates({-1})), std::invalid_argument);
  EXPECT_THROW(MaxMinFairness(as_rates({std::nan("")})), std::invalid_argument);
  EXPECT_THROW(MaxMinFairness(as_rates({1e300})), std::invalid_argument);
  MaxMinFairness fairness(as_rates({1e9}));
  for (const auto& transfer :
       {on({{1, 1}}), on({{0, -1}}), on({{0, std::nan("")}}), on({{0, 2e6}}), on({{0, 1}}, 0), on({{0, 1}}, -1),
        on({{0, 1}}, std::nan("")), on({{0, 1}}, 1, 0), on({{0, 1}}, 1, std::nan(""))}) {
    EXPECT_THROW(add(fairness, transfer), std::invalid_argument);
  }
  for (int i = 0; i < 4; ++i) add(fairness, on({{0, 0x1p20}}));
  EXPECT_THROW(add(fairness, on({{0, 1}})), std::invalid_argument);
  EXPECT_THROW(fairness.set_capacity(1, BytesPerSecond(1)), std::invalid_argument);
}

}  // namespace
}  // namespace sim
