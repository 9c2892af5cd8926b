#include "scenarios/validate/comparison.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/programs/handmade.h"

namespace scenarios {
namespace {

using strategies::OperationRecord;

/// Every operation of every rank takes `duration_ns`, one after the other, `gap_ns` between; rank r begins r x `late`
/// later. Step after step.
std::vector<OperationRecord> records_of(const strategies::Program& program, int steps, std::int64_t duration_ns,
                                        std::int64_t gap_ns, std::int64_t late_ns = 0) {
  std::vector<OperationRecord> records;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    const strategies::Role& role = program.roles[program.role_of_rank[static_cast<std::size_t>(rank)]];
    std::int64_t now = rank * late_ns;
    for (int step = 0; step < steps; ++step) {
      for (std::uint32_t action = 0; action < role.schedule.size(); ++action) {
        const auto& operations = role.blocks[role.schedule[action].block].operations;
        for (std::uint32_t i = 0; i < operations.size(); ++i) {
          records.push_back({strategies::Rank{rank}, {step, action, {i}}, now, now + duration_ns});
          now += duration_ns + gap_ns;
        }
      }
    }
  }
  return records;
}

std::size_t operations_of(const strategies::Program& program) { return records_of(program, 1, 1, 0).size(); }

const ComparedRow* row(const std::vector<ComparedRow>& rows, const std::string& name) {
  for (const ComparedRow& each : rows) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

TEST(Comparison, EqualRunsAgreeInEverything) {
  const strategies::Program program = tests::single_rank();
  const auto n = static_cast<double>(operations_of(program));
  const double step = n * 1000e-9;
  const Comparison result = compare(program, step, records_of(program, 1, 1000, 0), records_of(program, 5, 1000, 0), 2);
  EXPECT_EQ(result.measured_steps_s.size(), 3u);
  EXPECT_NEAR(result.measured_step_s, step, 1e-12);
  EXPECT_NEAR(result.error(), 0, 1e-9);
  EXPECT_NEAR(result.explained(), 1, 1e-9);
  double count = 0, predicted = 0, lanes = 0;
  for (const ComparedRow& each : result.kinds) {
    EXPECT_NEAR(each.error(), 0, 1e-9) << each.name;
    count += each.count;
    predicted += each.predicted_s;
  }
  for (const ComparedRow& each : result.lanes) lanes += each.measured_s;
  EXPECT_DOUBLE_EQ(count, n);
  EXPECT_NEAR(predicted, step, 1e-12);
  EXPECT_NEAR(lanes, step, 1e-12);
}

// Twice as slow, and a quarter of every operation's time passes behind it.
TEST(Comparison, ErrorsAndGapsAreWhatTheyAre) {
  const strategies::Program program = tests::single_rank();
  const auto n = static_cast<double>(operations_of(program));
  const Comparison result =
      compare(program, n * 1000e-9, records_of(program, 1, 1000, 0), records_of(program, 4, 2000, 500), 1);
  EXPECT_NEAR(result.measured_step_s, n * 2500e-9, 1e-12);
  EXPECT_NEAR(result.error(), 1 / 2.5 - 1, 1e-9);
  EXPECT_NEAR(result.explained(), 0.8, 1e-9);
  EXPECT_NEAR(result.measured_between_s(), n * 500e-9, 1e-12);
  for (const ComparedRow& each : result.kinds) {
    if (each.measured_s > 0) {
      EXPECT_NEAR(each.error(), -0.5, 1e-9) << each.name;
    }
  }
}

// dp 2: rank 1 comes 300 ns later to everything. Rank 0 waits that long in each of its all-reduces.
TEST(Comparison, WaitingForAPeerIsNoTimeOfTheCollective) {
  const strategies::Program program = tests::data_parallel();
  const auto together = records_of(program, 1, 1000, 0), late = records_of(program, 3, 1000, 0, 300);
  const Comparison result = compare(program, 1, together, late, 1);
  double collectives = 0, time = 0;
  for (const ComparedRow& each : result.kinds) {
    if (!each.name.starts_with("all-reduce")) continue;
    collectives += each.count;
    time += each.measured_s;
  }
  ASSERT_GT(collectives, 0);
  // Mean over two ranks: half of 300 ns for each.
  EXPECT_NEAR(row(result.kinds, "waiting for peers")->measured_s, collectives * 150e-9, 1e-15);
  EXPECT_NEAR(time, collectives * 850e-9, 1e-15);
  EXPECT_EQ(row(result.kinds, "waiting for peers")->predicted_s, 0);
}

TEST(Comparison, FiguresAreThoseOfTheMiddleHalf) {
  const strategies::Program program = tests::single_rank();
  std::vector<OperationRecord> records = records_of(program, 6, 1000, 0);
  for (OperationRecord& record : records) {  // the last operation of the run takes very long
    if (&record == &records.back()) record.end_ns += 1'000'000'000;
  }
  const auto n = static_cast<double>(operations_of(program));
  const Comparison result = compare(program, 1, records_of(program, 1, 1000, 0), records, 2);
  EXPECT_NEAR(result.measured_step_s, n * 1000e-9, 1e-12);
  EXPECT_GE(result.typical_step, 2);
  EXPECT_LT(result.typical_step, 5);
}

TEST(Comparison, EveryProgramIsCounted) {
  for (const tests::HandmadeProgram& handmade : tests::handmade_programs()) {
    const strategies::Program program = handmade.make();
    const Comparison result = compare(program, 1, records_of(program, 1, 10, 0), records_of(program, 2, 10, 0), 1);
    double count = 0;
    for (const ComparedRow& each : result.kinds) count += each.count;
    EXPECT_NEAR(count, static_cast<double>(operations_of(program)) / program.ranks(), 1e-9) << handmade.name;
  }
}

TEST(Comparison, RefusesWhatIsNotWhole) {
  const strategies::Program program = tests::single_rank();
  const auto predicted = records_of(program, 1, 10, 0);
  auto measured = records_of(program, 3, 10, 0);
  EXPECT_THROW(compare(program, 1, predicted, measured, 3), std::invalid_argument);
  measured.pop_back();
  EXPECT_THROW(compare(program, 1, predicted, measured, 1), std::invalid_argument);
  EXPECT_THROW(compare(program, 1, records_of(program, 2, 10, 0), records_of(program, 3, 10, 0), 1),
               std::invalid_argument);
}

}  // namespace
}  // namespace scenarios
