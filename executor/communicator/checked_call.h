// A collective call that doesn't contradict itself, with its blocks spelled out.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "executor/communicator/communicator.h"

namespace executor {

class CheckedCall {
 public:
  /// Throws std::invalid_argument if the call contradicts itself.
  CheckedCall(const CollectiveCall& given, std::size_t members);
  CheckedCall(CheckedCall&&) = default;
  const CollectiveCall& call() const { return call_; }

 private:
  std::vector<std::size_t> blocks_, received_blocks_;
  CollectiveCall call_;  ///< its spans of blocks are those above
};

bool reduces(CollectiveKind kind);

/// Throws std::invalid_argument unless these are different ranks, `rank` among them. Returns the place of `rank`.
int checked_position(std::span<const int> members, int rank, int ranks);

}  // namespace executor
