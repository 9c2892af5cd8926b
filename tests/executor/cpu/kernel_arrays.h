// Runs a kernel on the same values with the plain loops and with every table this machine can run.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "executor/cpu/kernels.h"
#include "tests/executor/cpu/float64_kernels.h"
#include "tests/executor/cpu/reference.h"

namespace executor::cpu {

using Values = std::vector<double>;

/// Uniform in [-1, 1); the same for the same seed on every machine.
inline Values random_values(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) value = static_cast<double>(random()) / 2147483648.0 - 1;
  return values;
}

inline std::vector<std::int32_t> random_ids(std::int64_t count, std::int32_t end, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % static_cast<unsigned>(end));
  return ids;
}

/// Arrays a kernel works on, each `offset` elements behind an aligned address and fenced with NaNs: a read outside
/// spoils the result, a write outside is noticed.
template <class T>
class KernelArrays {
 public:
  KernelArrays(const std::vector<Values>& values, std::size_t offset) : offset_(offset) {
    for (const Values& array : values) {
      std::vector<T>& buffer = buffers_.emplace_back(array.size() + kFence + kFence, kNaN);
      for (std::size_t i = 0; i < array.size(); ++i) buffer[kFence + offset + i] = static_cast<T>(array[i]);
      sizes_.push_back(array.size());
    }
  }

  T* operator[](std::size_t array) { return buffers_[array].data() + kFence + offset_; }
  std::vector<T> values(std::size_t array) const {
    const auto begin = buffers_[array].begin() + static_cast<std::ptrdiff_t>(kFence + offset_);
    return {begin, begin + static_cast<std::ptrdiff_t>(sizes_[array])};
  }
  std::size_t size() const { return buffers_.size(); }
  bool fences_hold() const {
    for (std::size_t a = 0; a < buffers_.size(); ++a) {
      const std::size_t begin = kFence + offset_, end = begin + sizes_[a];
      for (std::size_t i = 0; i < buffers_[a].size(); ++i) {
        if ((i < begin || i >= end) && !std::isnan(buffers_[a][i])) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::size_t kFence = 32;
  static constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
  std::size_t offset_;
  std::vector<std::vector<T>> buffers_;
  std::vector<std::size_t> sizes_;
};

/// Equal within `tolerance` of the largest expected value; NaN in `expected` = anything.
template <class T>
void expect_close(const std::vector<double>& expected, const std::vector<T>& actual, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size()) << what;
  double largest = 0;
  for (const double value : expected) largest = std::isnan(value) ? largest : std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) continue;
    ASSERT_NEAR(expected[i], static_cast<double>(actual[i]), tolerance * std::max(largest, 1e-30))
        << what << " [" << i << ']';
  }
}

/// run(kernels, arrays) must leave in all arrays what it leaves with the plain loops, and the same bits whatever the
/// addresses. Array elements that are NaN at first and not written by the plain loops may hold anything.
template <class Run>
void expect_like_plain_loops(const std::string& what, const std::vector<Values>& values, double tolerance, Run run) {
  KernelArrays<double> expected(values, 0);
  run(reference::kernels<double>(), expected);
  KernelArrays<double> wide(values, 0);
  run(float64::make_table(), wide);
  for (std::size_t a = 0; a < values.size(); ++a) {
    expect_close(expected.values(a), wide.values(a), 1e-12, what + ", double, array " + std::to_string(a));
  }
  for (const Kernels<float>& table : runnable_kernels()) {
    KernelArrays<float> first(values, 0);
    run(table, first);
    for (const std::size_t offset : {0u, 1u, 6u, 13u}) {
      const std::string where = what + ", " + std::string(table.name) + ", offset " + std::to_string(offset);
      KernelArrays<float> arrays(values, offset);
      run(table, arrays);
      EXPECT_TRUE(arrays.fences_hold()) << where;
      for (std::size_t a = 0; a < values.size(); ++a) {
        const std::vector<float> now = arrays.values(a), before = first.values(a);
        expect_close(expected.values(a), now, tolerance, where + ", array " + std::to_string(a));
        EXPECT_EQ(std::memcmp(now.data(), before.data(), now.size() * sizeof(float)), 0) << where << ": other bits";
      }
    }
  }
}

/// Memory whose first content must not matter.
inline Values unset(std::int64_t count) {
  return Values(static_cast<std::size_t>(count), std::numeric_limits<double>::quiet_NaN());
}

/// d loss / d x by central differences against `gradient`, for loss = sum of weights x outputs(x).
template <class Outputs>
void expect_gradient(const std::string& what, Values x, const Values& weights, const Values& gradient,
                     Outputs outputs) {
  ASSERT_EQ(x.size(), gradient.size()) << what;
  const auto loss = [&] {
    const Values y = outputs(x);
    EXPECT_EQ(y.size(), weights.size()) << what;
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += weights[i] * y[i];
    return sum;
  };
  constexpr double kStep = 1e-5;  // error of the difference: step^2 = 1e-10 and rounding 1e-16 / step = 1e-11
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = loss();
    x[i] = at - kStep;
    const double below = loss();
    x[i] = at;
    ASSERT_NEAR((above - below) / (2 * kStep), gradient[i], 1e-7) << what << " [" << i << ']';
  }
}

}  // namespace executor::cpu
