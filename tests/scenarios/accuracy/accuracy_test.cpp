// The scores: the baseline, the buyer subset, brackets, splits. The predictions themselves are tested elsewhere.
#include "scenarios/accuracy/accuracy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "scenarios/load/read_file.h"
#include "tests/scenarios/accuracy/example_runs.h"
#include "tests/scenarios/whole_tables.h"

namespace scenarios {
namespace {

AccuracyReport report_of(const std::vector<Cells>& changes) {
  static const Catalog catalog;
  std::vector<Cells> rows;
  for (const Cells& each : changes) rows.push_back(example_cells(each));
  return evaluate(runs_of(rows), catalog);
}

/// What is predicted for the example with these changes.
double predicted(const Cells& changes = {}) { return report_of({changes}).rows.front().predicted_s; }

/// The example, measured to take `factor` x what is predicted.
Cells measured(double factor, Cells changes = {}) {
  changes["measured_step_s"] = fmt::format("{}", factor * predicted(changes));
  return changes;
}

TEST(Accuracy, ErrorIsTheLogarithmOfPredictedOverMeasured) {
  const AccuracyReport report = report_of({measured(1), measured(2), measured(0.5)});
  EXPECT_NEAR(report.rows[0].error, 0, 1e-12);
  EXPECT_NEAR(report.rows[1].error, -std::log(2), 1e-12);
  EXPECT_NEAR(report.rows[2].error, std::log(2), 1e-12);
  EXPECT_EQ(report.total.rows, 3);
  EXPECT_NEAR(report.total.bias, 0, 1e-12);
  EXPECT_NEAR(report.total.median, std::log(2), 1e-12);
}

TEST(Accuracy, RowsWithoutAMeasuredStepAreSkippedLikeAllThatCannotBePredicted) {
  const AccuracyReport report =
      report_of({{{"measured_step_s", ""}}, {{"measured_step_s", "0"}}, {{"experts", "8"}}, measured(1)});
  const std::map<std::string, int> expected{{"sizes of experts unknown", 1}, {"no measured step", 2}};
  EXPECT_EQ(report.skipped, expected);
  EXPECT_EQ(report.total.rows, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(report.rows[i].scored());
    EXPECT_EQ(report.rows[i].run, i);
  }
}

// 10^8 sequences in micro-batches of 10^6, 2^24 tokens each: longer than the simulator's clock runs.
TEST(Accuracy, AnAbsurdRowDoesNotCostTheOthersTheirScore) {
  const Cells absurd{{"seq_len", "16777216"},
                     {"micro_batch", "1000000"},
                     {"global_batch", "100000000"},
                     {"dp", "1"},
                     {"tp", "1"},
                     {"pp", "1"},
                     {"gpus", "1"}};
  const AccuracyReport report = report_of({absurd, measured(1)});
  EXPECT_EQ(report.rows[0].skipped, "too large to simulate");
  EXPECT_EQ(report.total.rows, 1);
}

// Equal runs need equal FLOPs: one constant MFU explains the run in the middle and misses the others by ln 0.8 and
// ln 1.25. Ours misses all by another ln 1.5.
TEST(Accuracy, TheBaselineKnowsOneConstantMfuPerFamilyAndGpu) {
  const AccuracyReport report = report_of({measured(1.5 * 0.8), measured(1.5), measured(1.5 * 1.25)});
  const double ours = std::log(1.5), baseline = std::log(1.25);  // medians of 0.18 0.41 0.63 and of 0 0.22 0.22
  EXPECT_NEAR(report.total.median, ours, 1e-9);
  EXPECT_NEAR(report.total.skill.value(), 1 - ours / baseline, 1e-9);
}

TEST(Accuracy, TheBaselineIsFittedForEachFamilyAndGpu) {
  // Within each (family, GPU) all is explained by one constant: nothing is left for the baseline to miss.
  const Cells h100{{"gpu", "h100-sxm-80gb"}, {"inter_node", "8x400Gb/s IB"}};
  const Cells other{{"family", "others"}};
  EXPECT_EQ(
      report_of({measured(1.2), measured(1.2), measured(2, h100), measured(2, h100), measured(3, other)}).total.skill,
      std::nullopt);
  // Twice the batch in twice the time has the same MFU.
  const Cells twice{{"global_batch", "128"}, {"measured_step_s", "16"}};
  EXPECT_EQ(report_of({{{"measured_step_s", "8"}}, twice, {{"measured_step_s", "4"}}}).total.skill, std::nullopt);
}

TEST(Accuracy, BuyersWeighEveryModelOfAFamilyOnAGpuTheSame) {
  const Cells other{{"model_name", "13b-other"}};
  const AccuracyReport report = report_of({measured(1.1), measured(1.1), measured(1.1), measured(2, other)});
  EXPECT_EQ(report.buyer.rows, 4);
  EXPECT_NEAR(report.buyer.bias, -(std::log(1.1) + std::log(2)) / 2, 1e-9);
  EXPECT_NEAR(report.buyer.median, std::log(1.1), 1e-9);
  EXPECT_NEAR(report.buyer.p90, std::log(2), 1e-9);
  EXPECT_NEAR(report.total.bias, -(3 * std::log(1.1) + std::log(2)) / 4, 1e-9);
}

struct BuyerCase {
  const char* what;
  Cells changes;
  int rows;
};

const BuyerCase kBuyers[] = {
    {"13B on 16 GPUs", {}, 1},
    {"8 GPUs", {{"gpus", "8"}, {"dp", "2"}}, 0},
    {"sequences of 1024", {{"seq_len", "1024"}}, 0},
    {"sequences of 2048", {{"seq_len", "2048"}}, 1},
    {"tensor ranks on two nodes", {{"tp", "8"}, {"dp", "1"}, {"nvlink_domain", "4"}}, 0},
    {"tensor ranks fill the domain", {{"tp", "8"}, {"dp", "1"}}, 1},
    // 4 h^2 + 3 x 2.7 h^2 a layer: 20 layers of 5120 hold 6.3B.
    {"6.7B", {{"layers", "20"}}, 0},
    {"a fast step does not make a buyer", {{"gpus", "8"}, {"dp", "2"}, {"measured_step_s", "0.001"}}, 0},
    {"nor does a slow one unmake", {{"measured_step_s", "1e6"}}, 1},
};

TEST(Accuracy, BuyersAreChosenByInputs) {
  for (const BuyerCase& each : kBuyers) {
    const AccuracyReport report = report_of({each.changes});
    EXPECT_EQ(report.total.rows, 1) << each.what;
    EXPECT_EQ(report.buyer.rows, each.rows) << each.what;
  }
}

TEST(Accuracy, UnknownRecomputeIsABracketAndNotScored) {
  const Cells unknown{{"recompute", ""}};
  const double none = predicted({{"recompute", "none"}}), full = predicted({{"recompute", "full"}});
  ASSERT_GT(full, 1.1 * none);
  const auto at = [&unknown](double seconds) {
    Cells cells = unknown;
    cells["measured_step_s"] = fmt::format("{}", seconds);
    return cells;
  };
  const AccuracyReport report = report_of({at(0.9 * none), at((none + full) / 2), at(1.1 * full), measured(1)});
  EXPECT_EQ(report.unstated.recompute.rows, 3);
  EXPECT_EQ(report.unstated.recompute.inside, 1);
  ASSERT_EQ(report.families.size(), 1U);
  EXPECT_EQ(report.families[0].unstated.recompute.rows, 3);
  EXPECT_EQ(report.families[0].unstated.recompute.inside, 1);
  EXPECT_EQ(report.total.rows, 1);
  EXPECT_TRUE(report.skipped.empty());
  EXPECT_DOUBLE_EQ(report.rows[0].predicted_s, none);
  EXPECT_DOUBLE_EQ(report.rows[0].full_recompute_s.value(), full);
}

/// Steps of the example with the reduction beside the backward and after it, and a row between, below and above.
struct Overlaps {
  explicit Overlaps(Cells changes) : cells(std::move(changes)) {
    cells["overlap_dp"] = "1";
    overlapped = predicted(cells);
    cells["overlap_dp"] = "0";
    exposed = predicted(cells);
    cells["overlap_dp"] = "";
  }
  std::vector<Cells> rows() const {
    std::vector<Cells> rows;
    for (const double seconds : {0.9 * overlapped, (overlapped + exposed) / 2, 1.1 * exposed}) {
      rows.push_back(cells);
      rows.back()["measured_step_s"] = fmt::format("{}", seconds);
    }
    return rows;
  }

  Cells cells;
  double overlapped = 0, exposed = 0;
};

TEST(Accuracy, OverlapOfAKnownStackIsTheStacksAndItsWidthIsSaid) {
  const Overlaps overlaps{Cells{}};
  ASSERT_GT(overlaps.exposed, overlaps.overlapped);
  const AccuracyReport report = report_of(overlaps.rows());
  EXPECT_EQ(report.total.rows, 3);
  EXPECT_EQ(report.unstated.overlap.rows, 0);
  EXPECT_EQ(report.unstated.stack.rows, 3);
  EXPECT_EQ(report.unstated.stack.inside, 1);
  EXPECT_NEAR(report.unstated.stack.median_width, std::log(overlaps.exposed / overlaps.overlapped), 1e-12);
  EXPECT_EQ(report.families.at(0).unstated.stack.rows, 3);
  EXPECT_DOUBLE_EQ(report.rows[0].predicted_s, overlaps.overlapped);  // Megatron-Core overlaps
  EXPECT_DOUBLE_EQ(report.rows[0].other_overlap_s.value(), overlaps.exposed);
  EXPECT_EQ(report_of({measured(1, {{"overlap_dp", "1"}})}).unstated.stack.rows, 0);
}

TEST(Accuracy, OverlapOfAnUnknownStackIsABracketAndNotScored) {
  const Cells unknown{{"software", "something new"}};
  const AccuracyReport report = report_of(Overlaps(unknown).rows());
  EXPECT_EQ(report.total.rows, 0);
  EXPECT_EQ(report.unstated.overlap.rows, 3);
  EXPECT_EQ(report.unstated.overlap.inside, 1);
  EXPECT_EQ(report.unstated.stack.rows, 0);
}

TEST(Accuracy, FamiliesAreSortedAndHoldTheirOwnRows) {
  const AccuracyReport report = report_of({measured(2, {{"family", "b"}}),
                                           measured(1, {{"family", "a"}}),
                                           measured(3, {{"family", "b"}}),
                                           {{"family", "c"}, {"cp", "2"}}});
  ASSERT_EQ(report.families.size(), 3U);
  EXPECT_EQ(report.families[0].family, "a");
  EXPECT_EQ(report.families[0].errors.rows, 1);
  EXPECT_EQ(report.families[1].family, "b");
  EXPECT_NEAR(report.families[1].errors.bias, -std::log(6) / 2, 1e-9);
  EXPECT_EQ(report.families[2].errors.rows, 0);
}

int rows_in(const std::vector<Split>& splits, const std::string& name) {
  for (const Split& split : splits) {
    if (split.name == name) return split.errors.rows;
  }
  ADD_FAILURE() << "no split " << name;
  return -1;
}

TEST(Accuracy, Splits) {
  const Cells one_gpu{{"gpus", "1"}, {"dp", "1"}, {"tp", "1"}, {"pp", "1"}, {"quality", "A"}};
  const Cells large{{"gpus", "1000"}, {"dp", "250"}, {"micro_batch", "2"}, {"global_batch", "1000"}, {"quality", "C"}};
  const Cells wide{{"tp", "20"}, {"gpus", "20"}, {"dp", "1"}, {"pp", "1"}, {"seq_len", "4000"}, {"ffn", "13840"}};
  const Cells fat{{"micro_batch", "8"}};
  const AccuracyReport report = report_of({one_gpu, large, wide, fat});
  ASSERT_EQ(report.total.rows, 4);
  for (const auto& [name, rows] : std::map<std::string, int>{{"GPUs 1 to 9", 1},
                                                             {"GPUs 10 to 99", 2},
                                                             {"GPUs 100 to 999", 0},
                                                             {"GPUs 1000 to 9999", 1},
                                                             {"GPUs 1000000 to 9999999", 0},
                                                             {"micro-batch 1", 2},
                                                             {"micro-batch 2 to 3", 1},
                                                             {"micro-batch 4 to 7", 0},
                                                             {"micro-batch 8 or more", 1},
                                                             {"hidden > 512", 4},
                                                             {"tensor > 8", 1},
                                                             {"pipeline > 1", 2}}) {
    EXPECT_EQ(rows_in(report.splits, name), rows) << name;
  }
  EXPECT_EQ(rows_in(report.qualities, "quality A"), 1);
  EXPECT_EQ(rows_in(report.qualities, "quality B"), 2);
  EXPECT_EQ(rows_in(report.qualities, "quality C"), 1);
}

TEST(Accuracy, StandInsAreCountedOverPredictedRows) {
  const AccuracyReport report =
      report_of({{{"software", "new"}}, {{"inter_node", "unknown"}}, {{"software", "new"}, {"cp", "2"}}});
  EXPECT_EQ(report.usual_software, 1);
  EXPECT_EQ(report.usual_network, 1);
}

TEST(Accuracy, NoRunsNoErrors) {
  const AccuracyReport report = evaluate({}, Catalog());
  EXPECT_EQ(report.total.rows, 0);
  EXPECT_TRUE(report.families.empty());
}

TEST(Accuracy, IsDeterministic) {
  const std::vector<Cells> rows{{{"recompute", ""}}, {{"family", "b"}}, {{"tp", "4"}, {"dp", "2"}}};
  const AccuracyReport first = report_of(rows), second = report_of(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(first.rows[i].predicted_s, second.rows[i].predicted_s);
}

/// Tables of published runs beside the source tree, where there are some.
class PublishedRuns : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!kWholeTables) GTEST_SKIP() << kNoWholeTables;
  }
  static std::filesystem::path file() {
    return std::filesystem::path(TRAINYARD_SOURCE_DIR) / "tests/data/published" / GetParam();
  }
};

TEST_P(PublishedRuns, EveryRowIsPredictedOrSkippedWithAReason) {
  const CsvTable table = parse_csv(read_file(file(), std::size_t{1} << 26), GetParam());
  const AccuracyReport report = evaluate(read_runs(table), Catalog());
  ASSERT_EQ(report.rows.size(), table.rows.size());
  std::size_t predicted = 0, skipped = 0;
  for (const RowResult& row : report.rows) {
    const MeasuredRun& run = report.runs[row.run];
    if (!row.skipped.empty()) {
      ++skipped;
      continue;
    }
    ++predicted;
    EXPECT_TRUE(std::isfinite(row.predicted_s) && row.predicted_s > 0) << run.id;
    EXPECT_TRUE(std::isfinite(row.error)) << run.id;
    if (row.full_recompute_s) {
      EXPECT_GT(*row.full_recompute_s, row.predicted_s) << run.id;
    }
  }
  EXPECT_EQ(predicted + skipped, table.rows.size());
  EXPECT_GT(predicted, table.rows.size() / 2);
  std::size_t counted = 0;
  for (const auto& [reason, count] : report.skipped) {
    EXPECT_FALSE(reason.empty());
    counted += static_cast<std::size_t>(count);
    // Reasons that blame the table or the reader instead of naming what is not modelled.
    for (const char* word : {"mlp", "norm", "position", "recompute", "model:", "cluster:", "sizes", "too large",
                             "layout", "GPU not", "no measured"}) {
      EXPECT_FALSE(reason.starts_with(word)) << count << " rows: " << reason;
    }
  }
  EXPECT_EQ(counted, skipped);
  EXPECT_EQ(static_cast<std::size_t>(report.total.rows + report.unstated.recompute.rows + report.unstated.overlap.rows),
            predicted);
  int of_families = 0, of_qualities = 0;
  for (const FamilyAccuracy& family : report.families) of_families += family.errors.rows;
  for (const Split& split : report.qualities) of_qualities += split.errors.rows;
  EXPECT_EQ(of_families, report.total.rows);
  EXPECT_EQ(of_qualities, report.total.rows);
}

INSTANTIATE_TEST_SUITE_P(Tables, PublishedRuns, testing::Values("runs.csv", "runs2.csv"),
                         [](const auto& table) { return table.index == 0 ? "First" : "Second"; });

}  // namespace
}  // namespace scenarios
