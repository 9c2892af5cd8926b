#include "strategies/program/mesh.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace strategies {
namespace {

int stride(const Mesh& mesh, int dimension) {
  int product = 1;
  for (int d = 0; d < dimension; ++d) product *= mesh.dimensions[static_cast<std::size_t>(d)].extent;
  return product;
}

int count(const Mesh& mesh, const Group::Span& span) {
  return span.coordinates.empty() ? mesh.dimensions[static_cast<std::size_t>(span.dimension)].extent
                                  : static_cast<int>(span.coordinates.size());
}

}  // namespace

int Mesh::size() const {
  // Saturates, so that a mesh read from a file may be measured before it has been checked.
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  std::int64_t product = 1;
  for (const Dimension& dimension : dimensions) product = std::min(kMost, product * dimension.extent);
  return static_cast<int>(product);
}

int Mesh::find(const std::string& name) const {
  const auto found = std::ranges::find(dimensions, name, &Dimension::name);
  return found == dimensions.end() ? -1 : static_cast<int>(found - dimensions.begin());
}

int Mesh::coordinate(Rank rank, int dimension) const {
  return rank.value / stride(*this, dimension) % dimensions[static_cast<std::size_t>(dimension)].extent;
}

Rank Mesh::moved(Rank rank, int dimension, int coordinate) const {
  return Rank{rank.value + (coordinate - this->coordinate(rank, dimension)) * stride(*this, dimension)};
}

std::vector<Rank> Group::members(const Mesh& mesh, Rank rank) const {
  for (const Span& span : spans) {
    if (!span.coordinates.empty() &&
        !std::ranges::binary_search(span.coordinates, mesh.coordinate(rank, span.dimension))) {
      return {};
    }
  }
  std::vector<Rank> result{rank};
  result.reserve(static_cast<std::size_t>(size(mesh)));
  // The last span is expanded last and therefore varies slowest.
  for (const Span& span : spans) {
    const std::vector<Rank> inner = std::move(result);
    result.clear();
    for (int i = 0; i < count(mesh, span); ++i) {
      const int coordinate = span.coordinates.empty() ? i : span.coordinates[static_cast<std::size_t>(i)];
      for (const Rank member : inner) result.push_back(mesh.moved(member, span.dimension, coordinate));
    }
  }
  return result;
}

int Group::size(const Mesh& mesh) const {
  int product = 1;
  for (const Span& span : spans) product *= count(mesh, span);
  return product;
}

}  // namespace strategies
