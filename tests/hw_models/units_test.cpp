#include "hw_models/units.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace hw_models {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};

TEST(Units, MixUpsDoNotCompile) {
  EXPECT_TRUE((Addable<Seconds, Seconds>));
  EXPECT_FALSE((Addable<Seconds, Bytes>));
  EXPECT_FALSE((Addable<BytesPerSecond, FlopsPerSecond>));
  EXPECT_FALSE((Comparable<Seconds, BytesPerSecond>));
  EXPECT_FALSE((Multipliable<Seconds, Seconds>));
  EXPECT_FALSE((std::is_convertible_v<double, Seconds>));
  EXPECT_FALSE((std::is_convertible_v<Seconds, double>));
}

TEST(Units, Arithmetic) {
  EXPECT_EQ(Seconds(1.5) + Seconds(0.5), Seconds(2));
  EXPECT_EQ(Seconds(1.5) - Seconds(0.5), Seconds(1));
  EXPECT_EQ(3.0 * Seconds(2) / 4.0, Seconds(1.5));
  EXPECT_EQ(Bytes(10) * 3, Bytes(30));
  EXPECT_EQ(Bytes(7) / 2, Bytes(3));  // whole bytes
  EXPECT_DOUBLE_EQ(Bytes(7) / Bytes(2), 3.5);
  Bytes sum;
  sum += Bytes(5);
  sum -= Bytes(2);
  EXPECT_EQ(sum, Bytes(3));
  EXPECT_LT(Seconds(1), Seconds(2));
}

TEST(Units, AmountOverRateIsTime) {
  EXPECT_EQ(Bytes(50'000'000'000) / BytesPerSecond(25e9), Seconds(2));
  EXPECT_EQ(Flops(1e15) / FlopsPerSecond(1e15), Seconds(1));
}

}  // namespace
}  // namespace hw_models
