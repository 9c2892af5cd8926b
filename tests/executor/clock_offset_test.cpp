#include "executor/clock_offset.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "executor/cpu/run_rank.h"
#include "tests/executor/communicator/forked_ranks.h"

namespace executor {
namespace {

std::int64_t offset_of(const std::vector<Outcome>& outcomes, std::size_t rank) {
  EXPECT_EQ(outcomes[rank].error, "");
  return std::stoll(outcomes[rank].result);
}

TEST(ClockOffset, OneClockHasNone) {
  const auto outcomes = run_ranks({*find_communicator_kind("local")}, 4, [](const RankSeat& seat) {
    return std::to_string(clock_offset_ns(seat.communicator, cpu::now_ns));
  });
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) EXPECT_EQ(offset_of(outcomes, rank), 0);
}

// Every machine has been up for an hour longer, or shorter, than the one before. No message takes a minute.
TEST(ClockOffset, ClocksOfOtherMachinesAreAheadOrBehind) {
  constexpr std::int64_t kHour = 3600LL * 1'000'000'000, kMinute = kHour / 60;
  for (const std::int64_t hour : {kHour, -kHour}) {
    const auto outcomes = run_ranks({*find_communicator_kind("local"), true}, 3, [hour](const RankSeat& seat) {
      const std::int64_t ahead = seat.communicator.rank() * hour;
      return std::to_string(clock_offset_ns(seat.communicator, [ahead] { return cpu::now_ns() + ahead; }));
    });
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      const std::int64_t error = offset_of(outcomes, rank) - static_cast<std::int64_t>(rank) * hour;
      EXPECT_LT(error, kMinute);
      EXPECT_GT(error, -kMinute);
    }
  }
}

}  // namespace
}  // namespace executor
