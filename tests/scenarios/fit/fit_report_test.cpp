#include "scenarios/fit/fit_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/load/diagnostics.h"
#include "tests/scenarios/cli/run_binary.h"
#include "tests/scenarios/fit/synthetic_runs.h"

namespace scenarios {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class FitReport : public ::testing::Test {
 protected:
  const FitProblem problem_{synthetic_runs(catalog_with(100, 0.9)), catalog_with(150, 0.8), two_parameters()};
  const Fit fit_ = fit(problem_);
};

TEST_F(FitReport, SaysWhatWasFoundAndHowWell) {
  const std::string text = fit_text(problem_, fit_, leave_groups_out(problem_, fit_));
  EXPECT_THAT(text, HasSubstr("2 fitted parameters, 12 rows in 4 groups, loss "));
  EXPECT_THAT(text, ContainsRegex("\nlaunch +us +150 +(99|100|101)"));
  EXPECT_THAT(text, ContainsRegex("\nclock +0.8 +0.(89|9)"));
  EXPECT_THAT(text, ContainsRegex("\nlarge +6 +[0-9]+\\.[0-9] "));
  EXPECT_THAT(text, ContainsRegex("\nall +12 "));
  EXPECT_THAT(text, ContainsRegex("\nsoftware/megatron-core.yaml  prices.kernel_launch: (99|100|101)[0-9.]* us\n"));
}

TEST_F(FitReport, AParameterAtItsBoundIsMarked) {
  std::vector<FittedParameter> parameters = two_parameters();
  parameters[1].low = 0.95;
  const FitProblem bounded(synthetic_runs(catalog_with(100, 0.9)), catalog_with(100, 1), parameters);
  const Fit found = fit(bounded);
  EXPECT_THAT(fit_text(bounded, found, leave_groups_out(bounded, found)), HasSubstr("0.95 (bound)"));
}

TEST_F(FitReport, WritesAnOverlay) {
  const ScratchFolder scratch;
  write_fitted(scratch.path("overlay"), problem_, fit_);
  const Catalog written(scratch.path("overlay"));
  EXPECT_NEAR(value_in(written, two_parameters()[0]) / std::exp(fit_.theta[0]), 1, 0.005);  // three digits
  EXPECT_NEAR(value_in(written, two_parameters()[1]) / std::exp(fit_.theta[1]), 1, 0.005);
  write_text(scratch.path("file"), "");
  EXPECT_THROW(write_fitted(scratch.path("file"), problem_, fit_), InputError);
}

}  // namespace
}  // namespace scenarios
