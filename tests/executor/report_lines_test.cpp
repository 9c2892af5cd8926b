#include "executor/report_lines.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <vector>

namespace executor {
namespace {

/// Two replicas of one stage.
strategies::Program two_replicas() {
  strategies::Program program;
  program.views = {{{{"tp", 1}, {"dp", 2}, {"pp", 1}}}};
  program.role_of_rank = {0, 0};
  program.roles.resize(1);
  program.tokens_per_step = 10;
  return program;
}

class TwoRanks : public testing::Test {
 protected:
  void tell(int rank, const std::function<void(ReportWriter&)>& what) {
    ReportWriter writer([&](int, std::string_view line) { read_report(rank, line, collector_); });
    what(writer);
  }

  strategies::Program program_ = two_replicas();
  std::vector<int> closed_;
  RunCollector collector_{program_, [this](const StepFigures& figures) { closed_.push_back(figures.step); }};
};

TEST_F(TwoRanks, AStepClosesWhenAllHaveReportedIt) {
  tell(0, [](ReportWriter& w) { w.step({.step = 0, .loss_sum = 10, .gradient_norm = 3, .end_ns = 1'000'000'000}); });
  tell(0, [](ReportWriter& w) { w.step({.step = 1, .loss_sum = 1, .gradient_norm = -1, .end_ns = 1'600'000'000}); });
  EXPECT_TRUE(closed_.empty());
  tell(1, [](ReportWriter& w) { w.step({.step = 0, .loss_sum = 0.1, .gradient_norm = 3, .end_ns = 1'200'000'000}); });
  EXPECT_EQ(closed_, std::vector{0});
  tell(1, [](ReportWriter& w) { w.step({.step = 1, .loss_sum = 2, .gradient_norm = -1, .end_ns = 1'700'000'000}); });
  EXPECT_EQ(closed_, (std::vector{0, 1}));
  const RunResult result = collector_.take();
  EXPECT_EQ(result.steps[0].loss, (10 + 0.1) / 10);
  EXPECT_EQ(result.steps[0].gradient_norm, 3);
  EXPECT_DOUBLE_EQ(result.steps[0].seconds, 1.2);
  EXPECT_DOUBLE_EQ(result.steps[1].seconds, 0.5);
  EXPECT_EQ(result.steps[1].gradient_norm, -1);
}

TEST_F(TwoRanks, HashesDecideWhetherReplicasAgree) {
  for (const std::uint64_t other : {std::uint64_t{~0ULL}, std::uint64_t{5}}) {
    RunCollector collector(program_, nullptr);
    int rank = 0;
    for (const std::uint64_t hash : {std::uint64_t{~0ULL}, other}) {
      ReportWriter writer([&](int, std::string_view line) { read_report(rank, line, collector); });
      EXPECT_FALSE(collector.complete());
      writer.finished({.weights_hash = hash,
                       .peak_bytes = 7,
                       .workspace_bytes = 8,
                       .processor_ns = std::int64_t{9} << 40,
                       .crowded = rank == 1},
                      {});
      ++rank;
    }
    EXPECT_TRUE(collector.complete());
    const RunResult result = collector.take();
    EXPECT_EQ(result.replicas_identical, other == ~0ULL);
    EXPECT_EQ(result.ranks[1].peak_bytes, 7);
    EXPECT_EQ(result.ranks[1].workspace_bytes, 8);
    EXPECT_EQ(result.ranks[1].processor_ns, std::int64_t{9} << 40);
    EXPECT_FALSE(result.ranks[0].crowded);
    EXPECT_TRUE(result.ranks[1].crowded);
  }
}

TEST_F(TwoRanks, RecordsArriveWithTheirStep) {
  std::vector<strategies::OperationRecord> sent;
  for (std::uint32_t i = 0; i < 3; ++i)
    sent.push_back({{1}, {static_cast<int>(i), i + 1, {i + 2}}, i * 10, i * 10 + 5});
  tell(1, [&](ReportWriter& w) {
    for (const auto& record : sent) w.record(record);
    w.finished({}, {});
  });
  const RunResult result = collector_.take();
  ASSERT_EQ(result.records.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(result.records[i].rank, sent[i].rank);
    EXPECT_EQ(result.records[i].instance, sent[i].instance);
    EXPECT_EQ(result.records[i].begin_ns, sent[i].begin_ns);
    EXPECT_EQ(result.records[i].end_ns, sent[i].end_ns);
  }
}

TEST_F(TwoRanks, OtherLinesAreRefused) {
  for (const char* line : {"", "hello", "step", "step 1 2", "records 1 2 x", "finished -"}) {
    EXPECT_THROW(read_report(0, line, collector_), std::logic_error) << line;
  }
}

}  // namespace
}  // namespace executor
