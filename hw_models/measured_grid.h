// A time measured over a grid of sizes, and what it says about the sizes between.
//
//   on a cell:      log t is linear in the logarithm of every size (a constant rate is reproduced exactly)
//   below the grid: t of the smallest size: what is left is the call itself
//   above the grid: t grows in proportion to the size, as at a constant rate
#pragma once

#include <span>
#include <vector>

namespace hw_models {

struct MeasuredGrid {
  std::vector<std::vector<double>> axes;  ///< sizes > 0, ascending; at least one per axis
  std::vector<double> seconds;            ///< > 0; the last axis runs fastest

  /// `sizes`: one per axis, > 0. Relative error between points: docs/models.md.
  double at(std::span<const double> sizes) const;
  bool operator==(const MeasuredGrid&) const = default;
};

/// The number of values that a grid over `axes` holds.
std::size_t points_of(std::span<const std::vector<double>> axes);

}  // namespace hw_models
