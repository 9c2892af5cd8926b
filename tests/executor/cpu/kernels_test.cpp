#include "executor/cpu/kernels.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

namespace executor::cpu {
namespace {

TEST(Kernels, BaselineAlwaysRunsAndTheFastestIsTaken) {
  ASSERT_FALSE(runnable_kernels().empty());
  EXPECT_EQ(runnable_kernels().front().name, "baseline");
  EXPECT_EQ(&kernels(), &runnable_kernels().back());
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    EXPECT_EQ(kernels().name, "x86-64-v3");
  }
#endif
}

TEST(Kernels, TablesAreComplete) {
  for (const Kernels<float>& table : runnable_kernels()) {
    // Behind the name, a table is nothing but pointers to functions.
    using Function = void (*)();
    constexpr std::size_t kFirst = offsetof(Kernels<float>, matmul);
    for (std::size_t at = kFirst; at < sizeof table; at += sizeof(Function)) {
      Function function = nullptr;
      std::memcpy(&function, reinterpret_cast<const char*>(&table) + at, sizeof function);
      EXPECT_NE(function, nullptr) << table.name << ", member " << (at - kFirst) / sizeof(Function);
    }
  }
}

TEST(RotaryTable, Angles) {
  // Head dimension 4: frequencies 1 and base^(-1/2).
  double cosines[6], sines[6];
  rotary_table(3, 4, 100.0, cosines, sines);
  for (int p = 0; p < 3; ++p) {
    EXPECT_DOUBLE_EQ(cosines[2 * p], std::cos(p));
    EXPECT_DOUBLE_EQ(cosines[2 * p + 1], std::cos(p * 0.1));
    EXPECT_DOUBLE_EQ(sines[2 * p], std::sin(p));
    EXPECT_DOUBLE_EQ(sines[2 * p + 1], std::sin(p * 0.1));
  }
}

}  // namespace
}  // namespace executor::cpu
