// The caching allocator of PyTorch (c10/cuda/CUDACachingAllocator, default settings): device memory is taken in
// segments and never given back while requests can be met; what a request leaves over of a segment serves others.
//
//   size      = request rounded up to 512 B
//   segment   = 2 MiB for sizes up to 1 MiB; 20 MiB for sizes up to 10 MiB; else the size rounded up to 2 MiB
//   placement = the smallest free piece of the same pool (up to 1 MiB, above) that is large enough, lowest address
//   first;
//               the rest is split off when it is at least 512 B in the pool of small sizes, over 1 MiB in the other
//   free      = joined with free neighbours of the same segment
//   limit     = segments without a live piece are given back when a new one would exceed it
#pragma once

#include <cstdint>
#include <list>
#include <set>

#include "hw_models/units.h"

namespace sim {

class CachingAllocator {
 public:
  struct Piece {
    std::int64_t address = 0, size = 0;
    bool small = false, live = false;
    bool first = false, last = false;  ///< of its segment
  };
  using Handle = std::list<Piece>::iterator;

  explicit CachingAllocator(hw_models::Bytes limit) : limit_(limit.value()) {}

  Handle allocate(hw_models::Bytes request);
  void free(Handle piece);

  hw_models::Bytes reserved() const { return hw_models::Bytes(reserved_); }
  hw_models::Bytes most_reserved() const { return hw_models::Bytes(most_reserved_); }

 private:
  struct Smaller {
    bool operator()(const Handle& a, const Handle& b) const {
      return a->size != b->size ? a->size < b->size : a->address < b->address;
    }
  };
  using Pool = std::set<Handle, Smaller>;

  Pool& pool(bool small) { return small ? small_ : large_; }
  Handle new_segment(std::int64_t size, bool small);
  void give_back();

  std::int64_t limit_, reserved_ = 0, most_reserved_ = 0;
  std::int64_t next_address_ = 0;
  std::list<Piece> pieces_;  ///< by address; segments do not touch each other
  Pool small_, large_;       ///< free pieces
};

}  // namespace sim
