#include "sim/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sim {
namespace {

std::vector<EventId> order(const std::vector<std::pair<std::int64_t, EventId>>& events) {
  Engine engine;
  for (const auto& [time, id] : events) engine.at(time, id);
  std::vector<EventId> result;
  engine.run([&](EventId id) { result.push_back(id); });
  return result;
}

TEST(Engine, RunsInOrderOfTimeThenOfScheduling) {
  EXPECT_EQ(order({{5, 1}, {3, 2}, {5, 3}, {0, 4}, {3, 5}}), (std::vector<EventId>{4, 2, 5, 1, 3}));
}

TEST(Engine, OrderEqualsAStableSort) {
  std::mt19937_64 random(1);
  std::vector<std::pair<std::int64_t, EventId>> events;
  for (EventId id = 0; id < 5000; ++id) events.emplace_back(static_cast<std::int64_t>(random() % 300), id);
  const std::vector<EventId> ran = order(events);
  std::ranges::stable_sort(events, {}, &std::pair<std::int64_t, EventId>::first);
  ASSERT_EQ(ran.size(), events.size());
  for (std::size_t i = 0; i < ran.size(); ++i) ASSERT_EQ(ran[i], events[i].second) << i;
}

TEST(Engine, EventsScheduledWhileRunningTakeTheirPlace) {
  Engine engine;
  std::vector<std::pair<std::int64_t, EventId>> ran;
  engine.at(10, 1);
  engine.at(20, 2);
  engine.run([&](EventId id) {
    ran.emplace_back(engine.now(), id);
    if (id == 1) {
      engine.at(20, 3);  // after event 2, which was scheduled earlier for the same time
      engine.at(10, 4);
    }
  });
  EXPECT_EQ(ran, (std::vector<std::pair<std::int64_t, EventId>>{{10, 1}, {10, 4}, {20, 2}, {20, 3}}));
  EXPECT_EQ(engine.events(), 4U);
}

TEST(Engine, TheEndOfATimeComesAfterAllElse) {
  Engine engine;
  std::vector<EventId> ran;
  engine.at_end(10, 1);
  engine.at(10, 2);
  engine.at(11, 3);
  engine.run([&](EventId id) {
    ran.push_back(id);
    if (id == 2) engine.at(10, 4);
    if (id == 1) {
      engine.at_end(10, 5);
      engine.at(10, 6);  // the end of a time may give it more
    }
  });
  EXPECT_EQ(ran, (std::vector<EventId>{2, 4, 1, 6, 5, 3}));
}

TEST(Engine, RefusesThePast) {
  Engine engine;
  engine.at(10, 1);
  engine.run([&](EventId) { EXPECT_THROW(engine.at(9, 2), std::logic_error); });
}

std::uint64_t fingerprint(const std::vector<std::pair<std::int64_t, EventId>>& events) {
  Engine engine;
  for (const auto& [time, id] : events) engine.at(time, id);
  engine.run([](EventId) {});
  return engine.fingerprint();
}

TEST(Engine, FingerprintTellsRunsApart) {
  const std::uint64_t run = fingerprint({{1, 7}, {2, 8}});
  EXPECT_EQ(run, fingerprint({{2, 8}, {1, 7}}));
  EXPECT_NE(run, fingerprint({{1, 8}, {2, 7}}));
  EXPECT_NE(run, fingerprint({{1, 7}, {3, 8}}));
  EXPECT_NE(run, fingerprint({{1, 7}}));
  EXPECT_NE(run, fingerprint({{1, 7}, {2, 8}, {2, 8}}));
  EXPECT_NE(fingerprint({{5, 1}, {5, 2}}), fingerprint({{5, 2}, {5, 1}}));
}

// The same on every machine and compiler. The value was worked out apart from this code, with whole numbers modulo
// 2^64.
TEST(Engine, FingerprintIsPortable) { EXPECT_EQ(fingerprint({{1, 7}, {2, 8}}), 4192953561236222064U); }

}  // namespace
}  // namespace sim
