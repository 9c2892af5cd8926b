// One direction of one operation between this rank and one peer: a stream of bytes read from or written into pieces of
// memory. An outgoing stream may be fed by an incoming one: what has been received (and reduced) is what goes on to the
// next rank, byte by byte, which makes a ring a pipeline without steps or barriers.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "executor/communicator/communicator.h"

namespace executor {

struct Piece {
  std::byte* data = nullptr;
  std::size_t size = 0;
  bool reduce = false;  ///< incoming: combine with what is there instead of replacing it
};

/// A place in a list of pieces. Empty pieces are skipped.
class PieceCursor {
 public:
  PieceCursor() = default;
  explicit PieceCursor(std::vector<Piece> pieces);
  std::uint64_t total() const { return total_; }
  std::uint64_t done() const { return done_; }
  /// What is left of the current piece; of size 0 at the end.
  Piece rest() const;
  void advance(std::size_t bytes);
  /// The next `bytes` bytes, or as many as the vectors hold. Returns the vectors used.
  std::size_t gather(std::size_t bytes, std::span<iovec> vectors) const;

 private:
  std::vector<Piece> pieces_;
  std::uint64_t total_ = 0, done_ = 0;
  std::size_t piece_ = 0, offset_ = 0;
};

class Incoming {
 public:
  Incoming(int peer, std::vector<Piece> pieces, Element element, Reduction reduction);
  int peer() const { return peer_; }
  std::uint64_t total() const { return cursor_.total(); }
  std::uint64_t done() const { return cursor_.done(); }
  /// A stream of no bytes is complete when its peer has opened it, too.
  bool complete() const { return opened_ && done() == total(); }
  bool opened() const { return opened_; }
  void open() { opened_ = true; }
  /// Takes the bytes that make whole numbers; returns how many.
  std::size_t take(std::span<const std::byte> bytes);
  /// Memory that the next bytes of the stream are to be received into as they are; empty when they are to be reduced.
  std::span<std::byte> room() const;
  void filled(std::size_t bytes) { cursor_.advance(bytes); }

 private:
  int peer_;
  Element element_;
  Reduction reduction_;
  bool opened_ = false;
  PieceCursor cursor_;
};

class Outgoing {
 public:
  /// Without a feed (-1) everything can be sent at once; else the first `head` bytes, and as many more as incoming
  /// stream `feed` of the same operation has done.
  Outgoing(int peer, std::vector<Piece> pieces, int feed = -1, std::uint64_t head = 0);
  int peer() const { return peer_; }
  std::uint64_t total() const { return cursor_.total(); }
  std::uint64_t sent() const { return cursor_.done(); }
  bool complete() const { return opened_ && sent() == total(); }
  bool opened() const { return opened_; }
  void open() { opened_ = true; }
  /// Bytes that can be sent now. A multiple of 8 unless they end the stream: no number is split between two frames.
  std::uint64_t available(std::span<const Incoming> incoming) const;
  std::size_t gather(std::size_t bytes, std::span<iovec> vectors) const { return cursor_.gather(bytes, vectors); }
  void advance(std::size_t bytes) { cursor_.advance(bytes); }

 private:
  int peer_, feed_;
  std::uint64_t head_;
  bool opened_ = false;
  PieceCursor cursor_;
};

}  // namespace executor
