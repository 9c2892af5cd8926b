#include "sim/caching_allocator.h"

#include <algorithm>
#include <iterator>

namespace sim {
namespace {

constexpr std::int64_t kMib = 1 << 20;
constexpr std::int64_t kGranule = 512;
constexpr std::int64_t kLargestSmall = kMib;
constexpr std::int64_t kSmallSegment = 2 * kMib;
constexpr std::int64_t kLargestShared = 10 * kMib;
constexpr std::int64_t kSharedSegment = 20 * kMib;

std::int64_t round_up(std::int64_t size, std::int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

std::int64_t segment_size(std::int64_t size) {
  if (size <= kLargestSmall) return kSmallSegment;
  return size < kLargestShared ? kSharedSegment : round_up(size, kSmallSegment);
}

bool worth_splitting(std::int64_t rest, bool small) { return small ? rest >= kGranule : rest > kLargestSmall; }

}  // namespace

CachingAllocator::Handle CachingAllocator::new_segment(std::int64_t size, bool small) {
  const std::int64_t bytes = segment_size(size);
  if (reserved_ + bytes > limit_) give_back();
  reserved_ += bytes;
  most_reserved_ = std::max(most_reserved_, reserved_);
  const std::int64_t address = next_address_;
  next_address_ += bytes;
  return pieces_.insert(pieces_.end(), Piece{address, bytes, small, false, true, true});
}

void CachingAllocator::give_back() {
  for (Pool* free_pieces : {&small_, &large_}) {
    for (auto next = free_pieces->begin(); next != free_pieces->end();) {
      const Handle piece = *next;
      const bool whole = piece->first && piece->last;
      next = whole ? free_pieces->erase(next) : std::next(next);
      if (!whole) continue;
      reserved_ -= piece->size;
      pieces_.erase(piece);
    }
  }
}

CachingAllocator::Handle CachingAllocator::allocate(hw_models::Bytes request) {
  const std::int64_t size = std::max(round_up(request.value(), kGranule), kGranule);
  const bool small = size <= kLargestSmall;
  std::list<Piece> wanted{Piece{-1, size, small, false, false, false}};
  const auto fitting = pool(small).lower_bound(wanted.begin());
  Handle piece;
  if (fitting == pool(small).end()) {
    piece = new_segment(size, small);
  } else {
    piece = *fitting;
    pool(small).erase(fitting);
  }
  piece->live = true;
  const std::int64_t rest = piece->size - size;
  if (!worth_splitting(rest, small)) return piece;
  const Handle left =
      pieces_.insert(std::next(piece), Piece{piece->address + size, rest, small, false, false, piece->last});
  piece->size = size;
  piece->last = false;
  pool(small).insert(left);
  return piece;
}

void CachingAllocator::free(Handle piece) {
  piece->live = false;
  if (!piece->last) {
    const Handle next = std::next(piece);
    if (!next->live) {
      pool(piece->small).erase(next);
      piece->size += next->size;
      piece->last = next->last;
      pieces_.erase(next);
    }
  }
  if (!piece->first) {
    const Handle previous = std::prev(piece);
    if (!previous->live) {
      pool(piece->small).erase(previous);
      previous->size += piece->size;
      previous->last = piece->last;
      pieces_.erase(piece);
      piece = previous;
    }
  }
  pool(piece->small).insert(piece);
}

}  // namespace sim
