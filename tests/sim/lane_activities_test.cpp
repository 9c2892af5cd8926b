#include "sim/lane_activities.h"

#include <gtest/gtest.h>

namespace sim {
namespace {

using strategies::Lane;

// Work of 10 at full rate, from 4 on at a third: 6 left take 18.
TEST(Progress, EndsAtTheFirstWholeNanosecondAtWhichNothingIsLeft) {
  Progress progress = Progress::of(10, 0, kFullRate);
  EXPECT_EQ(progress.end(), 10);
  progress.change_rate(kFullRate / 3, 4);
  EXPECT_EQ(progress.end(), 4 + 19);  // 1365/4096 is a little less than a third
  progress.change_rate(kFullRate, 4);
  EXPECT_EQ(progress.end(), 10);
}

TEST(Progress, WhatHasNotBegunOnlyChangesItsRate) {
  Progress progress = Progress::of(10, 100, kFullRate);
  progress.change_rate(kFullRate / 2, 40);
  EXPECT_EQ(progress.end(), 120);
}

// One transfer of 100 from 0, its equal from 40 on: both at half speed. The first has 60 left then and ends at 160; the
// second has done 60 by then and ends 40 later, as alone.
TEST(LaneActivities, EqualTransfersShareWhileBothAreInFlight) {
  PortLoads loads;
  PortLoad full{.multiprocessors = 1024};
  full.ports[0] = kFullRate;
  const LoadId id = loads.add(full);
  PortSharing sharing(loads);
  LaneActivities activities(sharing);
  activities.start(Lane::kData, id, Bound::kNothing, 100, 0);
  activities.settle(0);
  EXPECT_EQ(activities.end(Lane::kData), 100);
  activities.start(Lane::kGather, id, Bound::kNothing, 100, 40);
  EXPECT_TRUE(activities.settle(40));
  EXPECT_EQ(activities.end(Lane::kData), 160);
  EXPECT_EQ(activities.kernel_rate(Bound::kMultiprocessors), 2048);
  activities.stop(Lane::kData);
  activities.settle(160);
  EXPECT_EQ(activities.end(Lane::kGather), 200);
  activities.stop(Lane::kGather);
  activities.settle(200);
  EXPECT_TRUE(activities.quiet());
  EXPECT_EQ(activities.kernel_rate(Bound::kMultiprocessors), kFullRate);
}

}  // namespace
}  // namespace sim
