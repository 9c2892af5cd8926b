#include "hw_models/measured_grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace hw_models {
namespace {

double at(const MeasuredGrid& grid, std::vector<double> sizes) { return grid.at(sizes); }

TEST(MeasuredGrid, ReturnsItsPoints) {
  const MeasuredGrid grid{{{1, 4}, {10, 20, 80}}, {1, 2, 3, 5, 7, 11}};
  const double expected[] = {1, 2, 3, 5, 7, 11};
  std::size_t i = 0;
  for (const double x : grid.axes[0]) {
    for (const double y : grid.axes[1]) EXPECT_NEAR(at(grid, {x, y}), expected[i++], 1e-12) << x << " " << y;
  }
}

TEST(MeasuredGrid, IsLinearInLogarithmsBetween) {
  const MeasuredGrid one{{{4, 16}}, {1, 16}};  // t = x^2 / 16
  EXPECT_NEAR(at(one, {8}), 4, 1e-12);
  // Hand-solved: halfway in both logarithms the mean of the corners' logarithms, (1 x 4 x 2 x 32)^(1/4) = 4.
  const MeasuredGrid two{{{1, 4}, {1, 4}}, {1, 4, 2, 32}};
  EXPECT_NEAR(at(two, {2, 2}), 4, 1e-12);
}

// t = 1e-9 m n k, whatever the grid: between, at and beyond its points.
TEST(MeasuredGrid, ReproducesAConstantRate) {
  const std::vector<double> axis{16, 100, 512};
  MeasuredGrid grid{{axis, axis, axis}, {}};
  for (const double m : axis) {
    for (const double n : axis) {
      for (const double k : axis) grid.seconds.push_back(1e-9 * m * n * k);
    }
  }
  for (const std::vector<double>& sizes :
       std::vector<std::vector<double>>{{16, 16, 16}, {33, 400, 512}, {1000, 20, 99}, {1024, 2048, 4096}}) {
    EXPECT_NEAR(grid.at(sizes) / (1e-9 * sizes[0] * sizes[1] * sizes[2]), 1, 1e-9);
  }
}

TEST(MeasuredGrid, IsFlatBelowAndProportionalAbove) {
  const MeasuredGrid grid{{{10, 20}}, {3, 4}};
  EXPECT_NEAR(at(grid, {1}), 3, 1e-12);
  EXPECT_NEAR(at(grid, {60}), 12, 1e-12);
  const MeasuredGrid point{{{10}}, {3}};
  EXPECT_NEAR(at(point, {5}), 3, 1e-12);
  EXPECT_NEAR(at(point, {20}), 6, 1e-12);
}

TEST(MeasuredGrid, WantsOneSizePerAxis) {
  const MeasuredGrid grid{{{10, 20}}, {3, 4}};
  EXPECT_THROW(at(grid, {1, 2}), std::invalid_argument);
}

}  // namespace
}  // namespace hw_models
