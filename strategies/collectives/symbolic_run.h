// Runs the steps of all members without times or numbers: what lies in a slice is a symbol, "the sum over these ranks
// of their value number v". A run proves that an algorithm leaves what its operation promises, that every message is
// received, in the size in which it was sent, and that nothing waits for ever.
//
// Buffering: a connection (sender, receiver, channel) holds `slots` messages; a sender waits while it is full. 8 is
// NCCL's number of steps in flight per connection; every algorithm here runs with 1 as well. Without any (rendezvous)
// rings would not: all ranks send before they receive.
//
// Hops count the messages along the longest chain of steps that wait for each other, as if sending took no time:
// the critical path for an empty buffer. `far_hops` is the longest chain when only messages between domains count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/collectives/algorithm.h"
#include "strategies/collectives/symbol.h"

namespace strategies {

struct SymbolicOptions {
  int slots = 8;
  /// Tries members and lanes in descending order. Steps that a message orders cannot tell the difference; two lanes
  /// that race for a slice can.
  bool reversed = false;
};

/// Amounts in parts of S.
struct MemberTraffic {
  std::int64_t sent = 0, received = 0, sent_far = 0;
  int messages = 0, messages_far = 0;  ///< sent
};

struct SymbolicResult {
  std::vector<std::string> findings;   ///< empty: the postcondition holds. At most 10
  std::int64_t parts = 1;              ///< of S: the finest cut in use
  std::vector<MemberTraffic> traffic;  ///< by member
  int hops = 0, far_hops = 0;
};

/// `steps` as all_steps() returns them. Throws std::invalid_argument for more than kMaxSymbolicRanks ranks.
SymbolicResult run_symbolically(const Exchange& exchange, const GroupDomains& group,
                                const std::vector<std::vector<Step>>& steps, const SymbolicOptions& options = {});

}  // namespace strategies
