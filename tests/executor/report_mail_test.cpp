#include "executor/report_mail.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/executor/communicator/forked_ranks.h"

namespace executor {
namespace {

class ReportMailTest : public testing::TestWithParam<Way> {};

/// Line i of a rank: as long as a step's figures, or as its records.
std::string line(int rank, int i) {
  return fmt::format("{} {} ", rank, i) + std::string(i % 3 == 0 ? 300'000 : 1, static_cast<char>('a' + i));
}

/// Rank 0 hears `lines` lines of every rank, though it says only `own` itself.
std::string exchange(Communicator& communicator, int lines, int own) {
  std::map<int, int> heard;
  std::string wrong;
  ReportMail mail(communicator, [&](int rank, std::string_view text) {
    if (text != line(rank, heard[rank]++)) wrong += fmt::format("line {} of rank {}; ", heard[rank], rank);
  });
  const int count = communicator.rank() == 0 ? own : lines;
  for (int i = 0; i < count; ++i) {
    mail.post(line(communicator.rank(), i));
    all_reduce(communicator, kWorld, 1, Reduction::kSum);
  }
  for (int i = count; i < lines; ++i) all_reduce(communicator, kWorld, 1, Reduction::kSum);
  mail.close();
  for (const auto& [rank, number] : heard) wrong += fmt::format("{}:{} ", rank, number);
  return wrong;
}

TEST_P(ReportMailTest, EveryLineReachesRankZeroInOrder) {
  for (const auto& [own, expected] :
       {std::pair(7, "0:7 1:7 2:7 "), std::pair(1, "0:1 1:7 2:7 "), std::pair(0, "1:7 2:7 ")}) {
    const auto outcomes =
        run_ranks(GetParam(), 3, [own = own](const RankSeat& seat) { return exchange(seat.communicator, 7, own); });
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcomes[0].result, expected);
    for (std::size_t rank = 1; rank < outcomes.size(); ++rank) EXPECT_EQ(outcomes[rank].result, "");
  }
}

TEST_P(ReportMailTest, ALostRankIsNamedWhileItsLinesAreAwaited) {
  if (!GetParam().kind.survives_faults) GTEST_SKIP();
  const auto outcomes = run_ranks(GetParam(), 3, [](const RankSeat& seat) {
    ReportMail mail(seat.communicator, [](int, std::string_view) {});
    mail.post("a line");
    if (seat.communicator.rank() == 2) throw std::runtime_error("the disk is full");
    mail.close();
    return std::string();
  });
  EXPECT_EQ(outcomes[0].peer, 2) << outcomes[0].error;
  EXPECT_EQ(outcomes[2].error, "the disk is full");
}

INSTANTIATE_TEST_SUITE_P(Ways, ReportMailTest, testing::ValuesIn(testable_ways(false)), name_of);

}  // namespace
}  // namespace executor
