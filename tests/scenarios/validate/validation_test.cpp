#include "scenarios/validate/validation.h"

#include <gtest/gtest.h>

namespace scenarios {
namespace {

Validation with_error(double predicted_s, double measured_s) {
  Validation validation;
  validation.comparison.predicted_step_s = predicted_s;
  validation.comparison.measured_step_s = measured_s;
  validation.comparison.measured_steps_s = {measured_s};
  return validation;
}

TEST(Validation, AgreesWithinItsTolerance) {
  const struct {
    double predicted, measured, tolerance;
    bool agrees;
  } cases[] = {{1, 1, 0.15, true},    {1.14, 1, 0.15, true},  {1.16, 1, 0.15, false},
               {0.86, 1, 0.15, true}, {0.84, 1, 0.15, false}, {0.84, 1, 0.2, true}};
  for (const auto& c : cases) {
    Validation validation = with_error(c.predicted, c.measured);
    validation.tolerance = c.tolerance;
    EXPECT_EQ(validation.agrees(), c.agrees) << c.predicted << " " << c.tolerance;
    EXPECT_NE(validation_text(validation).find(c.agrees ? "\nagrees: " : "\nDISAGREES: "), std::string::npos);
  }
}

TEST(Validation, TimesOfTooManyRanksMeanNothing) {
  Validation validation = with_error(5, 1);
  validation.correctness_only = true;
  EXPECT_TRUE(validation.agrees());
  EXPECT_NE(validation_text(validation).find("\ncorrectness only: "), std::string::npos);
  validation.replicas_identical = false;
  EXPECT_FALSE(validation.agrees());
  EXPECT_NE(validation_text(validation).find("\nDIFFERS: "), std::string::npos);
}

TEST(Validation, ABusyMachineIsSaid) {
  Validation validation = with_error(1, 1);
  EXPECT_EQ(validation_text(validation).find("busy"), std::string::npos);
  validation.core_share = 0.97;
  EXPECT_EQ(validation_text(validation).find("busy"), std::string::npos);
  validation.core_share = 0.5;
  EXPECT_NE(validation_text(validation).find("busy: kernels had a core 50 % of their time"), std::string::npos);
}

}  // namespace
}  // namespace scenarios
