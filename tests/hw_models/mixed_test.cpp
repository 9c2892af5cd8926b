#include "hw_models/mixed.h"

#include <gtest/gtest.h>

namespace hw_models {
namespace {

// The first two numbers of SplitMix64 from state 0 (Vigna's reference program splitmix64.c).
TEST(Mixed, IsSplitMix64) {
  EXPECT_EQ(mixed(kGolden), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(mixed(2 * kGolden), 0x6e789e6aa1b965f4ULL);
}

}  // namespace
}  // namespace hw_models
