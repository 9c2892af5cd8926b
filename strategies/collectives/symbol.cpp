#include "strategies/collectives/symbol.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace strategies {
namespace {

std::bitset<kMaxSymbolicRanks> only(int rank) {
  return std::bitset<kMaxSymbolicRanks>().set(static_cast<std::size_t>(rank));
}

std::bitset<kMaxSymbolicRanks> first(int ranks) {
  return ~std::bitset<kMaxSymbolicRanks>() >> static_cast<std::size_t>(kMaxSymbolicRanks - ranks);
}

}  // namespace

std::string text(const Symbol& symbol) {
  if (symbol.value < 0) return "nothing";
  std::vector<std::size_t> ranks;
  for (std::size_t r = 0; r < symbol.ranks.size(); ++r) {
    if (symbol.ranks[r]) ranks.push_back(r);
  }
  return fmt::format("value {} of ranks {}", symbol.value, fmt::join(ranks, " "));
}

Symbol Promise::before(int rank, StepBuffer buffer, int place) const {
  const bool there =
      buffer == StepBuffer::kResult ? contributes(rank, place) : buffer == StepBuffer::kSource && reads_source(rank);
  return there ? Symbol{place, only(rank)} : Symbol{};
}

Symbol Promise::after(int rank, int place) const {
  const Symbol anything;
  switch (exchange_.kind) {
    case ExchangeKind::kAllReduce:
      return {place, first(ranks_)};
    case ExchangeKind::kReduceScatter:
      return block_of(place) == rank ? Symbol{place, first(ranks_)} : anything;
    case ExchangeKind::kReduce:
      return rank == exchange_.root ? Symbol{place, first(ranks_)} : anything;
    case ExchangeKind::kAllGather:
      return {place, only(block_of(place))};
    case ExchangeKind::kBroadcast:
      return {place, only(exchange_.root)};
    case ExchangeKind::kAllToAll:
      return {rank * block_size() + place % block_size(), only(block_of(place))};
    case ExchangeKind::kSend:
      return rank == exchange_.receiver ? Symbol{place, only(exchange_.root)} : anything;
  }
  return anything;
}

bool Promise::contributes(int rank, int place) const {
  switch (exchange_.kind) {
    case ExchangeKind::kAllReduce:
    case ExchangeKind::kReduceScatter:
    case ExchangeKind::kReduce:
      return true;
    case ExchangeKind::kAllGather:
      return block_of(place) == rank;
    case ExchangeKind::kBroadcast:
      return rank == exchange_.root;
    case ExchangeKind::kAllToAll:
    case ExchangeKind::kSend:
      return false;
  }
  return false;
}

bool Promise::reads_source(int rank) const {
  return exchange_.kind == ExchangeKind::kAllToAll || (exchange_.kind == ExchangeKind::kSend && rank == exchange_.root);
}

}  // namespace strategies
