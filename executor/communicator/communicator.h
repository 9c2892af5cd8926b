// What the ranks of one run exchange with each other. Shaped after NCCL: operations are posted and complete later;
// members of a group post the collectives of that group in the same order; buffers belong to the communicator from
// the post to the completion; its destructor still sends what was posted, unless an exception ends it. Unlike NCCL
// nothing runs by itself: one thread per rank, and bytes move only inside progress(), test(), wait() and wait_any() (a
// CPU has no copy engine to spare).
//
//   const GroupHandle tensor = communicator.group({{0, 1}});
//   const Request sum = communicator.post({.kind = CollectiveKind::kAllReduce, .group = tensor, .data = bytes_of(x)});
//   ... compute, with communicator.progress() now and then ...
//   communicator.wait(sum);
//
// Every call but the constructor's may throw CommunicationError. After the first one the communicator is broken: every
// later call throws the same again, and the peers learn whom to blame.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "strategies/program/program.h"

namespace executor {

using strategies::CollectiveKind;

enum class Element : std::uint8_t { kFloat32, kFloat64, kInt64 };
const char* name(Element element);
std::size_t size_of(Element element);

/// kMax hands on NaN, so that a bad value on one rank is seen by all.
enum class Reduction : std::uint8_t { kSum, kMax };
const char* name(Reduction reduction);

/// A list of ranks known to the communicator; value 0 is all ranks.
struct GroupHandle {
  std::uint32_t value = 0;
  auto operator<=>(const GroupHandle&) const = default;
};
inline constexpr GroupHandle kWorld{0};

/// An operation posted and not waited for yet, or long complete. Value 0 is complete.
struct Request {
  std::uint64_t value = 0;
  auto operator<=>(const Request&) const = default;
};

/// A collective, in place: block i of `data` belongs to member i of the group.
///   all-reduce      `data` becomes the reduction over the members; of no bytes: a barrier
///   reduce-scatter  the own block becomes the reduction, the other blocks are overwritten
///   all-gather      the own block goes to all, the other blocks are overwritten
///   broadcast       `data` of the root goes to all
///   reduce          `data` of the root becomes the reduction, elsewhere it is overwritten
///   all-to-all      block j of `data` goes to member j, block i of `received` comes from member i
/// The order of the additions depends on group, bytes and position only: equal inputs give equal bits, on all members.
/// Members must agree on everything but `data` and, for all-to-all, on the bytes of each pair; else kMismatch.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  GroupHandle group = kWorld;
  std::span<std::byte> data = {};
  Element element = Element::kFloat32;
  Reduction reduction = Reduction::kSum;
  std::span<const std::size_t> block_bytes = {};  ///< one per member, sum = data.size(); empty: even_blocks()
  int root = 0;                                   ///< position in the group
  std::span<std::byte> received = {};             ///< all-to-all only
  std::span<const std::size_t> received_block_bytes = {};
  std::uint64_t tag = 0;  ///< compared between members too: tells collectives of equal shape apart
};

enum class Failure : std::uint8_t {
  kPeerLost,  ///< its connection broke: the process died
  kPeerLeft,  ///< it ended its communicator while others still needed it
  kStalled,   ///< nothing moved for the deadline
  kMismatch,  ///< members posted different collectives, or a message has another size than its receive
  kAborted    ///< the abort descriptor became readable
};

/// what() names the operation of this rank, the peer and what it was last known to do.
class CommunicationError : public std::runtime_error {
 public:
  CommunicationError(Failure failure, int peer, const std::string& message)
      : std::runtime_error(message), failure_(failure), peer_(peer) {}
  Failure failure() const { return failure_; }
  int peer() const { return peer_; }  ///< the rank to blame; -1 = unknown or none

 private:
  Failure failure_;
  int peer_;
};

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// The group of these ranks, in this order; this rank is one of them. The same list gives the same handle. All
  /// members must ask for it, and all ranks in one order of all groups: an implementation may meet the members here.
  virtual GroupHandle group(std::span<const int> members) = 0;

  /// The spans of blocks are copied. Throws std::invalid_argument if the call contradicts itself.
  virtual Request post(const CollectiveCall& call) = 0;
  /// Messages of one pair match by tag, those of equal tag in order. A send completes without its receive being posted
  /// (the receiver keeps the bytes while it is in any call of its communicator).
  virtual Request send(int to, std::uint64_t tag, std::span<const std::byte> data) = 0;
  virtual Request receive(int from, std::uint64_t tag, std::span<std::byte> data) = 0;

  /// Moves what can be moved now, never blocks.
  virtual void progress() = 0;
  /// progress(), then: is it complete?
  virtual bool test(Request request) = 0;
  /// Sleeps until it is complete; time counts against the deadline only while nothing at all moves.
  virtual void wait(Request request) = 0;
  /// Sleeps until at least one is complete.
  virtual void wait_any(std::span<const Request> requests) = 0;
};

/// `bytes` in `members` blocks of whole elements, the first ones larger by one element where it does not divide.
std::vector<std::size_t> even_blocks(std::size_t bytes, std::size_t members, std::size_t element_bytes);

/// The bytes of a contiguous range of numbers.
template <typename Range>
std::span<std::byte> bytes_of(Range& range) {
  return std::as_writable_bytes(std::span(range));
}

/// Blocking reduction of one number over a group: losses, norms, flags.
double all_reduce(Communicator& communicator, GroupHandle group, double value, Reduction reduction);

}  // namespace executor
