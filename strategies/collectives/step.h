// What one member of a collective does, as data: messages and reductions on slices of its buffers.
//
// Order: the steps of one member on one (channel, lane) run in order; different channels and lanes of a member are
// independent (NCCL's thread blocks and the thread groups inside one). A send hands a copy to the connection
// (sender, receiver, channel, number) and goes on while the connection has a free slot; a receive waits for its
// message. Connections deliver in order and have one lane at either end. Nothing else waits for anything.
//
// Buffers: sizes are fractions of S, the operation's whole buffer as nccl-tests counts it. The operations of NCCL that
// may run in place do: their contribution lies in the result buffer. All-to-all and send read a source buffer.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "strategies/collectives/group_domains.h"

namespace strategies {

enum class StepBuffer : std::uint8_t { kResult, kSource, kStaging };

/// `count` blocks of a buffer cut into `parts`: block i is [begin + i stride, end + i stride) modulo parts. Blocks do
/// not overlap; where there are several, begin, stride and parts are multiples of their width.
struct Slice {
  StepBuffer buffer = StepBuffer::kResult;
  int begin = 0, end = 1, parts = 1;
  int count = 1, stride = 0;
  bool operator==(const Slice&) const = default;
};

enum class StepKind : std::uint8_t {
  kSend,     ///< slice to peer
  kReceive,  ///< from peer, stored in slice
  kReduce,   ///< from peer, added to slice
  kCopy      ///< from `from` to slice, no message
};

struct Step {
  StepKind kind = StepKind::kSend;
  int channel = 0, lane = 0;
  int peer = -1;       ///< a member; -1 for copies
  int connection = 0;  ///< to or from it; a second one where two lanes have messages for the same peer
  Slice slice;
  Slice from;  ///< of copies
  bool operator==(const Step&) const = default;
};

/// The connection that a message of a step takes.
struct Ends {
  int from = 0, to = 0, channel = 0, number = 0;
  auto operator<=>(const Ends&) const = default;
};

/// Of a step of `member` that is no copy.
inline Ends ends_of(const Step& step, int member) {
  const bool sends = step.kind == StepKind::kSend;
  return {sends ? member : step.peer, sends ? step.peer : member, step.channel, step.connection};
}

const char* name(StepKind kind);

/// "rank 3", "switch 0" (of domain 0), "network".
std::string member_name(const GroupDomains& group, int member);

/// "0.1 reduce [2,3)/3 from rank 2": channel.lane, what, slice, peer. Progressions read "[0,1)/8 x4 -2"; buffers other
/// than the result are named; a second connection reads "from rank 2 #1".
std::string text(const Step& step, const GroupDomains& group);

/// One line per step under a line per member; members without steps are left out.
std::string text(const std::vector<std::vector<Step>>& steps, const GroupDomains& group);

}  // namespace strategies
