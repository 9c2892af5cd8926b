#include "executor/arena.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace executor {
namespace {

constexpr std::size_t kSmallestSlab = std::size_t{4} << 20;

std::size_t rounded(std::size_t bytes) {
  return (bytes + Arena::kAlignment - 1) / Arena::kAlignment * Arena::kAlignment;
}

}  // namespace

void Arena::add_slab(std::size_t bytes) {
  Slab slab;
  // Uninitialised: pages are touched by what is written to them.
  slab.memory.reset(new std::byte[bytes + kAlignment]);
  const auto address = reinterpret_cast<std::uintptr_t>(slab.memory.get());
  slab.begin = slab.memory.get() + (kAlignment - address % kAlignment) % kAlignment;
  insert(slab.begin, bytes);
  reserved_ += bytes;
  slabs_.push_back(std::move(slab));
}

void Arena::insert(std::byte* begin, std::size_t bytes) {
  free_.emplace(begin, bytes);
  free_by_size_.emplace(bytes, begin);
}

std::span<std::byte> Arena::take(std::size_t bytes) {
  const std::size_t needed = std::max(rounded(bytes), kAlignment);
  auto fit = free_by_size_.lower_bound(needed);
  if (fit == free_by_size_.end()) {
    add_slab(std::max(needed, kSmallestSlab));
    fit = free_by_size_.lower_bound(needed);
  }
  const auto [size, begin] = *fit;
  free_by_size_.erase(fit);
  free_.erase(begin);
  if (size > needed) insert(begin + needed, size - needed);
  in_use_ += needed;
  peak_ = std::max(peak_, in_use_);
  return {begin, bytes};
}

void Arena::give_back(std::span<std::byte> piece) {
  std::byte* begin = piece.data();
  std::size_t bytes = std::max(rounded(piece.size()), kAlignment);
  in_use_ -= bytes;
  const auto forget = [this](std::map<std::byte*, std::size_t>::iterator entry) {
    const auto [first, last] = free_by_size_.equal_range(entry->second);
    free_by_size_.erase(std::find_if(first, last, [&](const auto& item) { return item.second == entry->first; }));
    free_.erase(entry);
  };
  const auto starts_slab = [this](const std::byte* address) {
    return std::ranges::any_of(slabs_, [address](const Slab& slab) { return slab.begin == address; });
  };
  const auto next = free_.find(begin + bytes);
  if (next != free_.end() && !starts_slab(next->first)) {
    bytes += next->second;
    forget(next);
  }
  const auto after = free_.lower_bound(begin);
  if (after != free_.begin() && !starts_slab(begin)) {
    const auto previous = std::prev(after);
    if (previous->first + previous->second == begin) {
      begin = previous->first;
      bytes += previous->second;
      forget(previous);
    }
  }
  insert(begin, bytes);
}

}  // namespace executor
