// Which streams a member of a group runs for a collective.
//
// Ring (members p = 0 ... P-1, right neighbour p+1, left neighbour p-1; block b of P):
//   reduce-scatter  sends blocks p-1, p-2, ..., p+1 to the right, adds what comes from the left to p-2, ..., p
//   all-gather      sends blocks p, p-1, ..., p+2 to the right, receives p-1, ..., p+1 from the left
//   all-reduce      one after the other, as one stream
//   broadcast       root, root+1, ..., root-1 in a chain; reduce: root+1, ..., root
// After its first block (the head) a member sends exactly the bytes that it has received: block b is added up in the
// order b+1, b+2, ..., b, whenever the bytes come.
//
// Direct: to every member at once, contributions kept apart and added in the order of positions. One message instead of
// up to 2 (P-1), more bytes: for calls of up to kDirectBytes, and all all-to-all.
//
// Every member receives at least one stream, if only of no bytes, from its left neighbour: members that disagree about
// the call learn of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "executor/communicator/communicator.h"
#include "executor/communicator/transfer.h"

namespace executor {

/// Measured with tests/bench/communicator_bench.cpp: one round of messages beats the ring up to here.
inline constexpr std::size_t kDirectBytes = 8192;

struct TransferPlan {
  std::vector<Incoming> incoming;
  std::vector<Outgoing> outgoing;
  std::vector<std::byte> scratch;                         ///< contributions of a direct reduction
  std::span<std::byte> target;                            ///< where their sum goes when all streams are complete
  std::vector<std::span<const std::byte>> contributions;  ///< in the order of positions, one is `target` itself
  Element element = Element::kFloat32;
  Reduction reduction = Reduction::kSum;

  bool complete() const;
  /// The last act of a direct reduction.
  void finish();
};

/// Of the member at `position`. `call` has passed check_call(); its blocks are given, one per member.
TransferPlan plan_transfers(const CollectiveCall& call, std::span<const int> members, int position);

/// Throws std::invalid_argument if the call contradicts itself.
void check_call(const CollectiveCall& call, std::size_t members);

}  // namespace executor
