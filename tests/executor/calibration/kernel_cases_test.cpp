#include "executor/calibration/kernel_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "hw_models/measured_kernels.h"

namespace executor {
namespace {

TEST(KernelCases, OnePerKindInTheirOrder) {
  for (const bool quick : {false, true}) {
    const std::vector<KernelCase> cases = kernel_cases(quick);
    ASSERT_EQ(cases.size(), hw_models::kernel_kinds().size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      EXPECT_EQ(cases[i].kind, hw_models::kernel_kinds()[i].name);
      EXPECT_EQ(cases[i].axes.size(), hw_models::kernel_kinds()[i].dimensions()) << cases[i].kind;
      for (const Sizes& axis : cases[i].axes) {
        EXPECT_TRUE(std::ranges::adjacent_find(axis, std::greater_equal()) == axis.end()) << cases[i].kind;
      }
    }
  }
}

/// What is too much work is priced by its smaller neighbours: there must be one.
TEST(KernelCases, SmallestPointIsMeasured) {
  for (const KernelCase& each : kernel_cases(true)) {
    EXPECT_LE(each.work(grid_points(each).front()), each.most_work) << each.kind;
  }
}

TEST(KernelCases, RunAtTheSmallestSizes) {
  CaseMemory memory;
  for (const KernelCase& each : kernel_cases(true)) {
    for (int repeat = 0; repeat < 2; ++repeat) each.run(cpu::kernels(), grid_points(each).front(), memory);
  }
}

TEST(KernelCases, LastAxisRunsFastest) {
  const KernelCase two{"", {{1, 2}, {3, 4, 5}}, nullptr, 0, nullptr};
  EXPECT_EQ(grid_points(two), (std::vector<Sizes>{{1, 3}, {1, 4}, {1, 5}, {2, 3}, {2, 4}, {2, 5}}));
}

}  // namespace
}  // namespace executor
