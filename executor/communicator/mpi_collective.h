// A collective over MPI. The members first tell each other what they have posted, without blocking; those who agree
// begin. The order of additions is MPI's own; it depends on the size of the group, the bytes and the library.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "executor/communicator/checked_call.h"
#include "executor/communicator/frame.h"

namespace executor {

/// A number of elements for MPI. Throws std::invalid_argument if it is more than an int holds.
int mpi_count(std::size_t elements);

/// What members of a group say first, and what they move then, may overtake each other: two communicators.
struct MpiGroup {
  std::vector<int> members;
  int position = 0;
  MPI_Comm checks = MPI_COMM_NULL, data = MPI_COMM_NULL;
  std::uint64_t posted = 0, begun = 0;  ///< collectives so far
};

/// Stays where it is until it is complete, as does its group.
class MpiCollective {
 public:
  MpiCollective(CheckedCall call, MpiGroup& group);
  MpiCollective(const MpiCollective&) = delete;
  MpiCollective& operator=(const MpiCollective&) = delete;

  const MpiGroup& group() const { return group_; }
  std::uint64_t number() const { return number_; }  ///< among the group's
  const CallShape& own_shape() const { return shapes_[static_cast<std::size_t>(group_.position)]; }
  std::span<const CallShape> shapes() const { return shapes_; }  ///< by position

  bool begun() const { return begun_; }
  /// All members have posted it, and all earlier ones of the group have begun.
  bool may_begin();
  void begin();
  /// True once, when it is.
  bool complete();

 private:
  struct Blocks {
    std::vector<int> counts, offsets;
    Blocks(std::span<const std::size_t> bytes, std::size_t unit);
  };
  std::span<std::byte> own_block() const;

  CheckedCall checked_;
  MpiGroup& group_;
  std::uint64_t number_;
  int count_;
  MPI_Datatype type_;
  Blocks blocks_, received_;
  MPI_Op op_ = MPI_SUM;
  std::vector<std::byte> reduced_block_;  ///< of a reduce-scatter, on its way to the own block
  std::vector<CallShape> shapes_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool begun_ = false;
};

}  // namespace executor
