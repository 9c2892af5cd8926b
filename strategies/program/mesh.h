// Ranks as coordinates along named dimensions, and the groups they form.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace strategies {

struct Rank {
  std::int32_t value = 0;
  auto operator<=>(const Rank&) const = default;
};

struct Dimension {
  std::string name;  ///< "dp", "pp", "tp", "cp", "ep", "edp", "etp", ...
  int extent = 1;
  bool operator==(const Dimension&) const = default;
};

/// One view of the ranks 0 ... size-1: rank = sum of coordinate x stride, the first dimension varies fastest.
/// Two views of the same ranks (dense dp x cp x tp, expert edp x ep x etp) have the same size.
struct Mesh {
  std::vector<Dimension> dimensions;

  int size() const;
  /// Index of the dimension called `name`, or -1.
  int find(const std::string& name) const;
  int coordinate(Rank rank, int dimension) const;
  /// `rank` moved to `coordinate` along `dimension`.
  Rank moved(Rank rank, int dimension, int coordinate) const;
  bool operator==(const Mesh&) const = default;
};

/// A family of groups over one view: ranks that agree in every dimension not listed belong together.
/// A span may restrict its dimension to listed coordinates ({first, last} stage of tied embeddings); a rank whose
/// coordinate is not listed is in no group.
struct Group {
  struct Span {
    int dimension = 0;
    std::vector<int> coordinates;  ///< ascending; empty = the whole dimension
    bool operator==(const Span&) const = default;
  };
  std::string name;
  int view = 0;
  std::vector<Span> spans;

  /// Members of the group that contains `rank`, ascending by the spans' order; empty when `rank` is in none.
  std::vector<Rank> members(const Mesh& mesh, Rank rank) const;
  /// How many ranks one group has.
  int size(const Mesh& mesh) const;
  bool operator==(const Group&) const = default;
};

}  // namespace strategies
