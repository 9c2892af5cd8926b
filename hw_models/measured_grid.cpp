#include "hw_models/measured_grid.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace hw_models {
namespace {

/// Where a size lies on its axis: between points `below` and `below + 1`, `weight` of the way in logarithms.
struct Position {
  std::size_t below = 0;
  double weight = 0;
  double growth = 1;  ///< factor beyond the last point
};

Position position(const std::vector<double>& axis, double size) {
  if (size <= axis.front()) return {};
  if (size >= axis.back()) return {axis.size() - 1, 0, size / axis.back()};
  const auto above = std::upper_bound(axis.begin(), axis.end(), size);
  const auto below = static_cast<std::size_t>(above - axis.begin()) - 1;
  return {below, std::log(size / axis[below]) / std::log(axis[below + 1] / axis[below]), 1};
}

}  // namespace

std::size_t points_of(std::span<const std::vector<double>> axes) {
  std::size_t points = 1;
  for (const std::vector<double>& axis : axes) points *= axis.size();
  return points;
}

double MeasuredGrid::at(std::span<const double> sizes) const {
  if (sizes.size() != axes.size()) throw std::invalid_argument("a grid is asked with one size per axis");
  std::vector<Position> positions;
  double growth = 1;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    positions.push_back(position(axes[axis], sizes[axis]));
    growth *= positions.back().growth;
  }
  double logarithm = 0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << axes.size()); ++corner) {
    double weight = 1;
    std::size_t index = 0;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const bool upper = (corner >> axis & 1U) != 0;
      weight *= upper ? positions[axis].weight : 1 - positions[axis].weight;
      index = index * axes[axis].size() + positions[axis].below + (upper ? 1 : 0);
    }
    if (weight > 0) logarithm += weight * std::log(seconds[index]);
  }
  return growth * std::exp(logarithm);
}

}  // namespace hw_models
