#include "executor/calibration/calibration.h"

#include <gtest/gtest.h>

namespace executor {
namespace {

TEST(Calibration, TypicalVariationIsTheMedianOverTheKinds) {
  Calibration calibration;
  calibration.quality = {{"a", 0, 0.5, 0}, {"b", 0, 0.1, 0}, {"c", 0, 0.2, 0}};
  EXPECT_DOUBLE_EQ(typical_variation(calibration), 0.2);
}

TEST(MachineState, StolenShareIsThatOfTheTimeBetween) {
  MachineState before, after;
  before.busy_ticks = 100, before.steal_ticks = 10;
  after.busy_ticks = 300, after.steal_ticks = 40;
  EXPECT_DOUBLE_EQ(stolen_share(before, after), 0.15);
  EXPECT_DOUBLE_EQ(stolen_share(after, after), 0);
}

TEST(MachineState, KnowsItsCores) {
  const MachineState state = machine_state();
  EXPECT_FALSE(state.cores.empty());
  EXPECT_GT(state.memory_bytes, 0);
}

}  // namespace
}  // namespace executor
