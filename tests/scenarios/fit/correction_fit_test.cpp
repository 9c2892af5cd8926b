#include "scenarios/fit/correction_fit.h"

#include <gtest/gtest.h>

#include "scenarios/collectives/machines.h"

namespace scenarios {
namespace {

// Rows made with known numbers: the fit finds a correction that explains them.
TEST(CorrectionFit, FindsWhatMadeTheRows) {
  const Catalog catalog;
  Machines machines(catalog);
  std::vector<MeasuredCollective> rows;
  for (const int gpus : {2, 8}) {
    for (std::int64_t bytes = 1024; bytes <= std::int64_t{1} << 30; bytes *= 4) {
      MeasuredCollective row;
      row.system = "made";
      row.gpu = "h100-sxm-80gb";
      row.gpus = gpus;
      row.nodes = 1;
      row.test = find_collective_test("all_gather");
      row.bytes = bytes;
      machines.of(row).machine->set_corrections({hw_models::Seconds(20e-6), 3, 0.6, hw_models::Seconds(300e-6)}, {});
      row.time_us = machines.of(row).machine->estimate(*row.test, bytes).time.value() * 1e6;
      rows.push_back(row);
    }
  }
  const std::vector<CorrectionFit> fits = fit_corrections(rows, catalog);
  ASSERT_EQ(fits.size(), 2U);  // the node and its generation
  EXPECT_EQ(fits[1].name, "node dgx-h100");
  EXPECT_LT(fits[1].median, 0.02);
  EXPECT_NEAR(fits[1].node.launch.value(), 20e-6, 2e-6);
  EXPECT_NEAR(fits[1].node.bandwidth, 0.6, 0.05);
  rows.resize(19);
  EXPECT_TRUE(fit_corrections(rows, catalog).empty());  // too few to fit to
}

}  // namespace
}  // namespace scenarios
