// Which tokens of a sequence a context rank holds (strategies/program/program.h, balanced_context).
#pragma once

#include <cstdint>

namespace executor {

/// Own tokens are numbered in the order of the sequence, through one piece of it or two.
struct ContextOrder {
  std::int64_t sequence = 1;
  int contexts = 1;
  bool balanced = false;

  int pieces() const { return balanced ? 2 : 1; }
  std::int64_t own() const { return sequence / contexts; }
  std::int64_t piece_length() const { return own() / pieces(); }
  /// Number among all pieces of the sequence of the rank's piece `i`.
  int piece(int rank, int i) const { return i == 0 ? rank : 2 * contexts - 1 - rank; }
  /// Of the rank's own token in the sequence.
  std::int64_t position(int rank, std::int64_t token) const {
    const std::int64_t length = piece_length();
    return piece(rank, static_cast<int>(token / length)) * length + token % length;
  }
};

}  // namespace executor
