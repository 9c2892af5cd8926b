#include "scenarios/collectives/collectives_accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/cli/run_binary.h"

namespace scenarios {
namespace {

MeasuredCollective row_of(const std::string& system, std::int64_t bytes, double time_us) {
  MeasuredCollective row;
  row.system = system;
  row.gpu = "h100-sxm-80gb";
  row.gpus = 8;
  row.nodes = 1;
  row.test = find_collective_test("all_reduce");
  row.bytes = bytes;
  row.time_us = time_us;
  return row;
}

TEST(CollectivesAccuracy, SystemsWeighTheSame) {
  const Catalog catalog;
  const double us = evaluate_collectives({row_of("x", 1024, 1)}, catalog).results[0].predicted_us;
  // System a: three rows measured at the prediction; b: one row that took e^0.5 longer.
  const double slower = us * std::exp(0.5);
  const CollectivesAccuracy accuracy = evaluate_collectives(
      {row_of("a", 1024, us), row_of("a", 1024, us), row_of("a", 1024, us), row_of("b", 1024, slower)}, catalog);
  ASSERT_EQ(accuracy.systems.size(), 2U);
  EXPECT_NEAR(accuracy.systems[1].errors.bias, -0.5, 1e-12);
  EXPECT_NEAR(accuracy.totals[0].all.bias, -0.25, 1e-12);
  EXPECT_NEAR(accuracy.totals[0].all.median, 0, 1e-12);
  EXPECT_NEAR(accuracy.totals[0].all.p90, 0.5, 1e-12);
  EXPECT_EQ(accuracy.totals[1].below_1mib.rows, 4);
  EXPECT_EQ(accuracy.totals[1].from_1mib.rows, 0);
  EXPECT_EQ(accuracy.totals[2].all.rows, 0);
  ASSERT_EQ(accuracy.systems[0].decades.size(), 1U);
  EXPECT_EQ(accuracy.systems[0].decades[0].from_bytes, 1000);
}

TEST(CollectivesAccuracy, WhatIsNotPredictedIsCounted) {
  MeasuredCollective alone = row_of("a", 8, 1), unknown = row_of("b", 8, 1);
  alone.gpus = 1;
  unknown.gpu = "tpu";
  const CollectivesAccuracy accuracy = evaluate_collectives({alone, unknown}, Catalog());
  EXPECT_EQ(accuracy.skipped.at("one GPU alone"), 1);
  EXPECT_EQ(accuracy.skipped.at("GPU not in the catalogue"), 1);
  EXPECT_TRUE(accuracy.systems.empty());
}

// The published sweeps, as docs/nccl.md states them. Bounds, so that what is good does not rot.
TEST(CollectivesAccuracy, PublishedSweeps) {
  const std::string file = std::string(TRAINYARD_SOURCE_DIR) + "/tests/data/published/nccl.csv";
  const CollectivesAccuracy accuracy =
      evaluate_collectives(read_sweep(parse_csv(read_file(file), "nccl.csv")), Catalog());
  for (const CollectiveTotals& totals : accuracy.totals) {
    EXPECT_LT(totals.from_1mib.median, 0.10) << totals.name;
    EXPECT_LT(totals.below_1mib.median, 0.20) << totals.name;
    EXPECT_LT(totals.all.p90, 0.40) << totals.name;
  }
  for (const SystemAccuracy& system : accuracy.systems) {
    // Four and eight L40S, 4 and 16 times slower than two, are beyond a PCIe tree.
    const bool judged = system.errors.rows >= 20 && system.system != "l40s";
    EXPECT_TRUE(!judged || system.from_16mib.median < 0.20) << system.system;
  }
}

TEST(CollectivesAccuracy, JsonHasTheTotals) {
  const auto json =
      nlohmann::json::parse(collectives_accuracy_json(evaluate_collectives({row_of("a", 8, 9)}, Catalog())));
  for (const char* key : {"total", "single_node", "multi_node"}) {
    EXPECT_TRUE(json[key]["median_abs_error"].is_number()) << key;
    EXPECT_TRUE(json[key]["p90_abs_error"].is_number()) << key;
  }
  EXPECT_EQ(json["total"]["n"], 1);
  EXPECT_EQ(json["systems"][0]["system"], "a");
}

}  // namespace
}  // namespace scenarios
