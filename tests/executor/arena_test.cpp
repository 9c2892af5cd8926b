#include "executor/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "executor/random.h"

namespace executor {
namespace {

TEST(Arena, PiecesAreAlignedAndWritable) {
  Arena arena;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{100}, std::size_t{5} << 20}) {
    const std::span<std::byte> piece = arena.take(bytes);
    EXPECT_EQ(piece.size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.data()) % Arena::kAlignment, 0U);
    if (bytes > 0) std::memset(piece.data(), 1, bytes);
  }
}

TEST(Arena, NeighboursGrowTogetherAgain) {
  Arena arena;
  const std::size_t third = Arena::kAlignment * 1000;
  const auto a = arena.take(third), b = arena.take(third), c = arena.take(third);
  EXPECT_EQ(arena.peak(), 3 * third);
  const std::size_t reserved = arena.reserved();
  arena.give_back(a);
  arena.give_back(c);
  arena.give_back(b);
  EXPECT_EQ(arena.in_use(), 0U);
  EXPECT_EQ(arena.take(reserved).data(), a.data()) << "the whole slab is one piece";
  EXPECT_EQ(arena.reserved(), reserved);
}

struct Held {
  std::span<std::byte> piece;
  std::byte mark;
};

/// Pieces never overlap, whatever the order.
TEST(Arena, RandomUseKeepsContents) {
  const RandomStream stream(1, "arena");
  Arena arena;
  std::vector<Held> held;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    if (held.empty() || stream.bits(2 * i) % 5 > 1) {
      held.push_back({arena.take(stream.bits(2 * i + 1) % 3000), static_cast<std::byte>(i)});
      std::ranges::fill(held.back().piece, held.back().mark);
      continue;
    }
    const auto victim = held.begin() + static_cast<std::ptrdiff_t>(stream.bits(2 * i + 1) % held.size());
    for (const std::byte value : victim->piece) ASSERT_EQ(value, victim->mark);
    arena.give_back(victim->piece);
    held.erase(victim);
  }
}

}  // namespace
}  // namespace executor
