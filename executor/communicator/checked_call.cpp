#include "executor/communicator/checked_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace executor {
namespace {

void check_blocks(std::span<const std::size_t> blocks, std::size_t bytes, std::size_t members, std::size_t unit) {
  if (blocks.size() != members) {
    throw std::invalid_argument(fmt::format("{} blocks for {} members", blocks.size(), members));
  }
  const std::size_t sum = std::accumulate(blocks.begin(), blocks.end(), std::size_t{0});
  if (sum != bytes) throw std::invalid_argument(fmt::format("blocks of {} bytes in a buffer of {}", sum, bytes));
  for (const std::size_t block : blocks) {
    if (block % unit != 0) throw std::invalid_argument(fmt::format("a block of {} bytes: no whole numbers", block));
  }
}

std::vector<std::size_t> spelled_out(std::span<const std::size_t> blocks, std::size_t bytes, std::size_t members,
                                     Element element) {
  if (blocks.empty()) return even_blocks(bytes, members, size_of(element));
  return {blocks.begin(), blocks.end()};
}

}  // namespace

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}

CheckedCall::CheckedCall(const CollectiveCall& given, std::size_t members)
    : blocks_(spelled_out(given.block_bytes, given.data.size(), members, given.element)), call_(given) {
  if (given.kind == CollectiveKind::kShiftNext || given.kind == CollectiveKind::kShiftPrevious) {
    throw std::invalid_argument("shifts are priced, not carried out");
  }
  if (given.root < 0 || static_cast<std::size_t>(given.root) >= members) {
    throw std::invalid_argument(fmt::format("root {} of a group of {}", given.root, members));
  }
  call_.block_bytes = blocks_;
  check_blocks(blocks_, given.data.size(), members, reduces(given.kind) ? size_of(given.element) : 1);
  if (given.kind == CollectiveKind::kAllToAll) {
    received_blocks_ = spelled_out(given.received_block_bytes, given.received.size(), members, given.element);
    call_.received_block_bytes = received_blocks_;
    check_blocks(received_blocks_, given.received.size(), members, 1);
  } else if (!given.received.empty()) {
    throw std::invalid_argument("only an all-to-all has a second buffer");
  }
}

int checked_position(std::span<const int> members, int rank, int ranks) {
  std::vector<int> sorted(members.begin(), members.end());
  std::ranges::sort(sorted);
  const auto own = std::ranges::find(members, rank);
  if (own == members.end() || sorted.front() < 0 || sorted.back() >= ranks ||
      std::ranges::adjacent_find(sorted) != sorted.end()) {
    throw std::invalid_argument(
        fmt::format("{{{}}} is no group for rank {} of {}", fmt::join(members, " "), rank, ranks));
  }
  return static_cast<int>(own - members.begin());
}

}  // namespace executor
