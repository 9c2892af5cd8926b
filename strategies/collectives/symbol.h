// What lies in a buffer of a symbolic run, and what an operation promises to leave there.
//
//   operation        before                          after, on every rank unless said otherwise
//   all-reduce       rank r holds r of every value   every value = sum over all ranks, each counted once
//   reduce           the same                        the same, on the root
//   reduce-scatter   the same                        the same, for the block of the rank
//   all-gather       rank r holds its own block      every block = its owner's
//   broadcast        the root holds every value      every value = the root's
//   all-to-all       source block d of rank r        result block r of rank d = source block d of rank r
//   send             the sender's source             the receiver's result = it
#pragma once

#include <bitset>
#include <string>

#include "strategies/collectives/algorithm.h"

namespace strategies {

inline constexpr int kMaxSymbolicRanks = 128;

/// The sum over `ranks` of their values number `value`; value -1: nothing was ever written here.
struct Symbol {
  int value = -1;
  std::bitset<kMaxSymbolicRanks> ranks;
  bool operator==(const Symbol&) const = default;
};

/// "value 3 of ranks 0 2", "nothing".
std::string text(const Symbol& symbol);

/// Buffers are seen as `parts` values; parts is a multiple of the number of ranks.
class Promise {
 public:
  Promise() = default;
  Promise(const Exchange& exchange, int ranks, int parts) : exchange_(exchange), ranks_(ranks), parts_(parts) {}

  Symbol before(int rank, StepBuffer buffer, int place) const;
  /// What the rank's result must hold; value -1: anything.
  Symbol after(int rank, int place) const;

 private:
  int block_size() const { return parts_ / ranks_; }
  int block_of(int place) const { return place / block_size(); }
  bool contributes(int rank, int place) const;
  bool reads_source(int rank) const;

  Exchange exchange_;
  int ranks_ = 1, parts_ = 1;
};

}  // namespace strategies
