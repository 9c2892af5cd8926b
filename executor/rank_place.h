// Where a rank stands in the Program's mesh.
#pragma once

#include <cstdint>

#include "strategies/program/program.h"

namespace executor {

struct RankPlace {
  strategies::Rank rank;
  std::uint32_t role = 0;
  int tensor = 0, tensors = 1;    ///< coordinate and extent of "tp"
  int replica = 0, replicas = 1;  ///< of "dp"
  int context = 0, contexts = 1;  ///< of "cp"
};

inline RankPlace place_of(const strategies::Program& program, strategies::Rank rank) {
  const strategies::Mesh& mesh = program.views.front();
  RankPlace place{.rank = rank, .role = program.role_of_rank[static_cast<std::size_t>(rank.value)]};
  const auto look_up = [&](const char* name, int& coordinate, int& extent) {
    const int dimension = mesh.find(name);
    if (dimension < 0) return;
    coordinate = mesh.coordinate(rank, dimension);
    extent = mesh.dimensions[static_cast<std::size_t>(dimension)].extent;
  };
  look_up("tp", place.tensor, place.tensors);
  look_up("dp", place.replica, place.replicas);
  look_up("cp", place.context, place.contexts);
  return place;
}

}  // namespace executor
